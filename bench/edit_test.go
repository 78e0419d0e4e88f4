package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPerlEditor(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := makeLog(path, editLines); err != nil {
		t.Fatal(err)
	}
	if err := perlEditor(path, false).once(t.Context(), path); err != nil {
		t.Error(err)
	}
	// An edit that does something else is no measurement.
	wrong := &editor{edit: func(context.Context, string, string) (float64, error) { return 1, nil }}
	if err := wrong.once(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not what it should be") || len(wrong.ms) != 0 {
		t.Errorf("an edit that does nothing: %v", err)
	}
}
