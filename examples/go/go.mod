module links

go 1.23

require (
	github.com/go-chi/chi/v5 v5.2.1
	github.com/stretchr/testify v1.10.0
	go.etcd.io/bbolt v1.4.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
