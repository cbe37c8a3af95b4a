package main

import (
	"errors"
	"net/url"

	bolt "go.etcd.io/bbolt"
)

var (
	errNotFound = errors.New("no such link")
	errNotWeb   = errors.New("not an absolute http or https URL")
)

var bucket = []byte("links")

type links struct{ db *bolt.DB }

func (l links) put(name, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errNotWeb
	}
	return l.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return b.Put([]byte(name), []byte(target))
	})
}

func (l links) get(name string) (target string, err error) {
	err = l.db.View(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucket); b != nil {
			target = string(b.Get([]byte(name)))
		}
		if target == "" {
			return errNotFound
		}
		return nil
	})
	return target, err
}
