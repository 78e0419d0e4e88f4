package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
	"mcp-toolset/tools/output"
)

// finalOutput returns the options that --output-schema and --output set.
func (c *common) finalOutput(expand func(string) string) (o output.Options, err error) {
	if c.outputSchema == "" {
		if c.output != "" {
			return o, usagef("--output needs --output-schema FILE")
		}
		return o, nil
	}
	if o.Schema, err = readSchema(expand(c.outputSchema)); err != nil {
		return o, usagef("--output-schema %s: %w", plain.Quote(c.outputSchema), err)
	}
	if c.output == "" {
		return o, nil
	}
	o.File = expand(c.output)
	if info, err := os.Lstat(o.File); err == nil && !info.Mode().IsRegular() {
		return o, usagef("--output %s: it is not a regular file", plain.Quote(c.output))
	}
	if info, err := os.Stat(filepath.Dir(o.File)); err != nil || !info.IsDir() {
		return o, usagef("--output %s: there is no folder %s", plain.Quote(c.output), plain.Quote(filepath.Dir(o.File)))
	}
	return o, nil
}

// readSchema reads the schema in a file.
func readSchema(file string) (*tools.ObjectSchema, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file") // opening it could block
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", errors.Unwrap(err)) // the caller names the file
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, tools.MaxSchema+1))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return tools.NewObjectSchema(text)
}
