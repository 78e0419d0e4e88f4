// Package mounttest runs tests that mount file systems in a mount namespace of their own.
// A mount or unmount in the namespace of all tests ends the watching of folders
// (see internal/search/watch) in every test that runs at the same time.
package mounttest
