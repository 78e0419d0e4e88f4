//go:build !slow

package shellsafe

const (
	randomTexts = 400 // given to bash and the parser
	randomPairs = 300 // of the metamorphic tests
	gitStride   = 25  // one of so many git lines of the corpus runs in hostile repositories
)
