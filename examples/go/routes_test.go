package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"
)

func serve(t *testing.T) http.Handler {
	db, err := bolt.Open(filepath.Join(t.TempDir(), "links.db"), 0o600, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return routes(links{db})
}

func ask(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func TestALinkRedirects(t *testing.T) {
	h := serve(t)
	assert.Equal(t, http.StatusNoContent, ask(h, "PUT", "/go", "https://go.dev/doc\n").Code)

	w := ask(h, "GET", "/go", "")
	assert.Equal(t, http.StatusFound, w.Code)
	assert.Equal(t, "https://go.dev/doc", w.Header().Get("Location"))
}

func TestTheLastTargetWins(t *testing.T) {
	h := serve(t)
	ask(h, "PUT", "/go", "https://go.dev/a")
	ask(h, "PUT", "/go", "https://go.dev/b")
	assert.Equal(t, "https://go.dev/b", ask(h, "GET", "/go", "").Header().Get("Location"))
}

func TestAnUnknownNameIsNotFound(t *testing.T) {
	assert.Equal(t, http.StatusNotFound, ask(serve(t), "GET", "/go", "").Code)
}

func TestOnlyWebAddressesAreKept(t *testing.T) {
	h := serve(t)
	for _, target := range []string{"", "go.dev", "/doc", "javascript:alert(1)", "ftp://go.dev", "http://"} {
		assert.Equal(t, http.StatusBadRequest, ask(h, "PUT", "/go", target).Code, target)
	}
	assert.Equal(t, http.StatusNotFound, ask(h, "GET", "/go", "").Code)
}
