package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// validate checks a JSON or YAML file against a JSON schema.
func validate(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	return valid(data, text)
}

func valid(schema, text []byte) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("resolving the schema: %w", err)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil { // JSON is YAML
		return err
	}
	// Numbers and maps have to be those of package json.
	plain, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}
