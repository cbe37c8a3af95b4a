// Links is a link shortener: PUT /name with a URL as the body, then GET /name is redirected to it.
package main

import (
	"flag"
	"log"
	"net/http"

	bolt "go.etcd.io/bbolt"
)

func main() {
	address := flag.String("address", "localhost:8080", "where to listen")
	file := flag.String("file", "links.db", "where the links are kept")
	flag.Parse()

	db, err := bolt.Open(*file, 0o600, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	log.Printf("links on http://%s", *address)
	log.Fatal(http.ListenAndServe(*address, routes(links{db})))
}
