package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// locateTime is the limit of the time in which the part of a value that does not fit is searched.
const locateTime = 200 * time.Millisecond

// finder finds the part of a value that does not fit a schema without references.
type finder struct {
	draft    string // $schema of the root
	end      time.Time
	resolved map[*jsonschema.Schema]*jsonschema.Resolved // nil: it cannot be used alone
}

func newFinder(draft string) *finder {
	return &finder{draft: draft, end: time.Now().Add(locateTime), resolved: map[*jsonschema.Schema]*jsonschema.Resolved{}}
}

// invalid returns the library's error for a value. After the end of the search it returns nil.
func (f *finder) invalid(value any, s *jsonschema.Schema) error {
	if s == nil || time.Now().After(f.end) {
		return nil
	}
	resolved, known := f.resolved[s]
	if !known {
		alone := s.CloneSchemas()
		alone.Schema = f.draft
		resolved, _ = alone.Resolve(nil)
		f.resolved[s] = resolved
	}
	if resolved == nil {
		return nil
	}
	return resolved.Validate(value)
}

// locate returns the fault of a value for which the library found an error. It goes down
// to the smallest part of the value that does not meet its own schema.
func (f *finder) locate(value any, s *jsonschema.Schema, at string, found error) *Fault {
	for p := range f.parts(value, s, at) {
		if err := f.invalid(p.value, p.schema); err != nil {
			return f.locate(p.value, p.schema, p.at, err)
		}
	}
	subject := "the value"
	if at != "" {
		subject = fmt.Sprintf("property %q", at)
	}
	if isFalse(s) {
		return &Fault{Fact: subject + " is not allowed", Next: "Leave it out."}
	}
	var known *Fault
	if errors.As((&schemaChecker{root: s}).check(value, s, at, 0), &known) {
		return known
	}
	return &Fault{Fact: subject + " does not fit the input schema: " + f.reason(value, s, found), Next: "Correct it by the tool's input schema."}
}

// part is a part of a value, or the whole, with a schema that it has to meet.
type part struct {
	value  any
	schema *jsonschema.Schema
	at     string
}

// parts returns the parts of a value that a schema has schemas for.
func (f *finder) parts(value any, s *jsonschema.Schema, at string) iter.Seq[part] {
	return func(yield func(part) bool) {
		switch v := value.(type) {
		case map[string]any:
			patterns := map[*regexp.Regexp]*jsonschema.Schema{}
			for text, of := range s.PatternProperties {
				if re, err := regexp.Compile(text); err == nil {
					patterns[re] = of
				}
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				of := []*jsonschema.Schema{s.Properties[name]}
				for re, pattern := range patterns {
					if re.MatchString(name) {
						of = append(of, pattern)
					}
				}
				if len(of) == 1 && of[0] == nil {
					of[0] = s.AdditionalProperties
				}
				for _, of := range of {
					if !yield(part{v[name], of, join(at, name)}) {
						return
					}
				}
				if !yield(part{v, s.DependentSchemas[name], at}) {
					return
				}
			}
		case []any:
			first, rest := s.PrefixItems, s.Items
			if strings.Contains(f.draft, "draft-07") {
				first, rest = nil, s.Items
				if s.ItemsArray != nil {
					first, rest = s.ItemsArray, s.AdditionalItems
				}
			}
			for i, item := range v {
				of := rest
				if i < len(first) {
					of = first[i]
				}
				if !yield(part{item, of, fmt.Sprintf("%s[%d]", at, i)}) {
					return
				}
			}
		}
		whole := s.AllOf
		if s.If != nil {
			branch := s.Then
			if f.invalid(value, s.If) != nil {
				branch = s.Else
			}
			whole = append(slices.Clip(whole), branch)
		}
		for _, of := range whole {
			if !yield(part{value, of, at}) {
				return
			}
		}
	}
}

// plainKeywords lists the keywords for which the library's text is shown.
var plainKeywords = []string{"maxContains", "maxItems", "maxProperties", "minContains", "minItems", "minProperties", "pattern", "uniqueItems"}

// reason returns the keyword of s that a value does not meet, and why, by the library's error.
func (f *finder) reason(value any, s *jsonschema.Schema, found error) string {
	text := strings.TrimPrefix(found.Error(), "validating root: ")
	keyword, _, _ := strings.Cut(text, ":")
	keyword, _, _ = strings.Cut(keyword, "[")
	switch {
	case strings.HasPrefix(text, "validating "): // a part that is not among parts
		if v, ok := value.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if f.invalid(name, s.PropertyNames) != nil {
					return fmt.Sprintf("propertyNames: the name %s does not fit", clip(fmt.Appendf(nil, "%q", name)))
				}
			}
		}
		return "a part of it does not fit"
	case slices.Contains(plainKeywords, keyword):
		return text
	case keyword == "anyOf":
		return "anyOf: it fits none of the alternatives"
	case keyword == "oneOf":
		return "oneOf: it fits none of the alternatives, or more than one"
	case keyword == "not":
		return "not: it is what the schema excludes"
	case keyword == "contains":
		return "contains: no item fits"
	case keyword == "enum":
		return "enum: it is none of " + inJSON(s.Enum)
	case keyword == "const" && s.Const != nil:
		return "const: it is not " + inJSON(*s.Const)
	case keyword == "multipleOf" && s.MultipleOf != nil:
		return fmt.Sprintf("multipleOf: it is not a multiple of %v", *s.MultipleOf)
	case keyword == "exclusiveMinimum" && s.ExclusiveMinimum != nil:
		return fmt.Sprintf("exclusiveMinimum: it is not more than %v", *s.ExclusiveMinimum)
	case keyword == "exclusiveMaximum" && s.ExclusiveMaximum != nil:
		return fmt.Sprintf("exclusiveMaximum: it is not less than %v", *s.ExclusiveMaximum)
	}
	return keyword + ": it does not fit"
}

func inJSON(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
