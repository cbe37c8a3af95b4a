package main

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

func routes(l links) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer, middleware.RequestSize(4096))

	r.Get("/{name}", func(w http.ResponseWriter, r *http.Request) {
		target, err := l.get(chi.URLParam(r, "name"))
		if err != nil {
			fail(w, err)
			return
		}
		http.Redirect(w, r, target, http.StatusFound)
	})

	r.Put("/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = l.put(chi.URLParam(r, "name"), strings.TrimSpace(string(body)))
		}
		if err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})

	return r
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errNotFound):
		status = http.StatusNotFound
	case errors.Is(err, errNotWeb):
		status = http.StatusBadRequest
	}
	http.Error(w, err.Error(), status)
}
