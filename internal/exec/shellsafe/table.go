package shellsafe

// The table of commands that are read-only, with the flags for which that is true.
// Flags that are not listed are refused. spec describes the notation.
//
// To add an entry, read the manual of the GNU program for every flag. Leave out
// flags that write, run programs, connect, wait for ever or read a list of names,
// and name them in why.

// table maps names of commands to their specs.
var table = map[string]*spec{
	// Listing, and attributes of files.
	"ls":         {why: "lists; no flag of it writes or runs", short: "1aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ", long: lsLong, ops: "p*", harmless: true, outside: true, below: "-R --recursive", dot: true},
	"dir":        {why: "ls under another name", short: "1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ", long: lsLong, ops: "p*", harmless: true, outside: true, below: "-R --recursive", dot: true},
	"vdir":       {why: "ls under another name", short: "1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ", long: lsLong, ops: "p*", harmless: true, outside: true, below: "-R --recursive", dot: true},
	"stat":       {why: "shows an inode", short: "Lftc:", long: "dereference file-system terse format= printf= cached=", ops: "p*", harmless: true, outside: true},
	"file":       {why: "guesses a type; not -C (writes magic.mgc), -m and -f (other files), -p (sets times), -z (runs unpackers), -S", short: "biLhkrNnv0s", long: "brief mime mime-type mime-encoding dereference no-dereference keep-going print0 no-pad raw extension", ops: "p*", outside: true},
	"du":         {why: "adds up sizes; not -X and --files0-from (lists of names), -L", short: "abchkmsxSlP0d:B:t:", long: "all bytes total human-readable summarize one-file-system separate-dirs count-links no-dereference null si apparent-size inodes max-depth= exclude= block-size= threshold= time=? time-style=", ops: "p*", harmless: true, outside: true, below: "*", dot: true},
	"df":         {why: "shows file systems", short: "aHhiklPTvt:x:B:", long: "all human-readable si inodes local portability print-type total no-sync type= exclude-type= block-size= output=?", ops: "p*", outside: true},
	"readlink":   {why: "shows where a link leads", short: "femnqsvz", long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero", ops: "p*", harmless: true, outside: true},
	"realpath":   {why: "shows a canonical path", short: "emLPqsz", long: "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to=/ relative-base=/", ops: "p*", harmless: true, outside: true},
	"basename":   {why: "cuts text", short: "as:z", long: "multiple suffix= zero", ops: "t*", harmless: true, outside: true},
	"dirname":    {why: "cuts text", short: "z", long: "zero", ops: "t*", harmless: true, outside: true},
	"pathchk":    {why: "looks at names", short: "pP", long: "portability", ops: "t*", harmless: true, outside: true},
	"tree":       {check: treeWords, why: "lists; not -o and -R (write), -H, --fromfile, -l (follows links)", short: "adfipshugDP:I:FJXnCrtcUvL:QqNx", long: "noreport dirsfirst filesfirst gitignore prune du si inodes device matchdirs ignore-case metafirst filelimit= charset= sort= timefmt=", ops: "p*", outside: true, below: "*", dot: true},
	"find":       {why: "walks a tree by the tests below", ops: "p*", outside: true},
	"fd":         {why: "walks a tree; not -x and -X (run), -l (runs ls), -L, --ignore-file, --base-directory", short: fdShort, long: fdLong, ops: "tp*", outside: true, below: "*", dot: true},
	"fdfind":     {why: "fd under Debian's name", short: fdShort, long: fdLong, ops: "tp*", outside: true, below: "*", dot: true},
	"lsattr":     {why: "shows attributes", short: "adlpv", ops: "p*", outside: true},
	"getfacl":    {why: "shows access lists; not -L, --restore is setfacl's", short: "acdeEsnpt", ops: "p*", outside: true},
	"namei":      {why: "shows the parts of a path", short: "lmnovx", long: "long modes nosymlinks owners vertical mountpoints", ops: "p*", harmless: true, outside: true},
	"mountpoint": {why: "says whether a folder is one", short: "dqx", ops: "p", outside: true},

	// Contents.
	"cat":     {why: "prints", short: "AbeEnstTuv", long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting", ops: "p*", harmless: true, outside: true},
	"tac":     {why: "prints backwards", short: "brs:", long: "before regex separator=", ops: "p*", harmless: true, outside: true},
	"nl":      {why: "numbers lines", short: "b:d:f:h:i:l:n:ps:v:w:", long: "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= number-format= no-renumber number-separator= starting-line-number= number-width=", ops: "p*", harmless: true, outside: true},
	"rev":     {why: "turns lines round", ops: "p*", harmless: true, outside: true},
	"head":    {why: "prints the beginning", short: "n:c:qvz", long: "lines= bytes= quiet silent verbose zero-terminated", ops: "p*", num: true, harmless: true, outside: true},
	"tail":    {why: "prints the end; not -f, -F, --follow, --retry, --pid (no end)", short: "n:c:qvz", long: "lines= bytes= quiet silent verbose zero-terminated", ops: "p*", num: true, harmless: true, outside: true},
	"wc":      {why: "counts; not --files0-from (a list of names)", short: "cmlLw", long: "bytes chars lines words max-line-length total=", ops: "p*", harmless: true, outside: true},
	"strings": {why: "prints text in binaries", short: "afwn:t:e:s:T:o", long: "all print-file-name bytes= radix= encoding= include-all-whitespace output-separator= target= unicode=", ops: "p*", num: true, outside: true, listed: true},
	"od":      {why: "dumps", short: "A:j:N:S:t:vw%abcdfilosx", long: "address-radix= skip-bytes= read-bytes= strings=? format= output-duplicates width=? endian=", ops: "p*", harmless: true, outside: true},
	"hexdump": {why: "dumps; not -f (a file of formats)", short: "bcCdoxvn:s:e:L%", long: "one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex no-squeezing length= skip= format= color=?", ops: "p*", outside: true},
	"hd":      {why: "hexdump -C", short: "vn:s:", ops: "p*", outside: true},
	"xxd":     {why: "dumps; a second operand and -r write", short: "abc:Ceg:il:o:ps:u", long: "ps plain", ops: "p", exact: true, ahead: true, outside: true},
	"cmp":     {why: "compares", short: "bi:ln:s", long: "print-bytes ignore-initial= verbose bytes= quiet silent", ops: "pptt", outside: true},
	"diff":    {why: "compares; not --to-file and --from-file, -l (runs pr), --palette", short: "abBcC:dD:eEF:iI:nNpPqrsS:tTuU:wW:x:yZ", long: diffLong, ops: "pp", num: true, outside: true, below: "-r --recursive"},
	"diff3":   {why: "compares three; not --diff-program (runs)", short: "aAeEimTxX3L:", long: "text show-all ed show-overlap merge initial-tab label= easy-only", ops: "ppp", outside: true},
	"comm":    {why: "compares sorted files", short: "123z", long: "check-order nocheck-order output-delimiter= total zero-terminated", ops: "pp", outside: true},

	// Text.
	"sort":     {why: "sorts; not -o, --compress-program, -T, --files0-from, --random-source", short: "bdfghiMnRrVsuzcCmk:t:S:", long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort check=? merge key= stable unique zero-terminated field-separator= buffer-size= parallel= sort= batch-size= debug", ops: "p*", outside: true},
	"uniq":     {why: "leaves out repeats; a second operand is written", short: "cdDiuzf:s:w:", long: "count repeated all-repeated=? group=? ignore-case unique zero-terminated skip-fields= skip-chars= check-chars=", ops: "p", num: true, ahead: true, outside: true},
	"cut":      {why: "cuts columns", short: "b:c:d:f:nsz", long: "bytes= characters= delimiter= fields= only-delimited zero-terminated complement output-delimiter=", ops: "p*", harmless: true, outside: true},
	"paste":    {why: "joins lines", short: "d:sz", long: "delimiters= serial zero-terminated", ops: "p*", harmless: true, outside: true},
	"join":     {why: "joins by a field", short: "a:e:ij:o:t:v:z1:2:", long: "ignore-case check-order nocheck-order header zero-terminated", ops: "pp", outside: true},
	"fold":     {why: "wraps", short: "bsw:", long: "bytes spaces width=", ops: "p*", harmless: true, outside: true},
	"fmt":      {why: "wraps", short: "cp:stuw:g:", long: "crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal=", ops: "p*", num: true, harmless: true, outside: true},
	"expand":   {why: "tabs to blanks", short: "it:", long: "initial tabs=", ops: "p*", num: true, harmless: true, outside: true},
	"unexpand": {why: "blanks to tabs", short: "at:", long: "all first-only tabs=", ops: "p*", harmless: true, outside: true},
	"column":   {why: "makes columns", short: "tJc:s:o:N:R:H:T:E:O:Lexdn:l:", long: "table json output-width= separator= output-separator= table-columns= table-right= table-hide= table-truncate= table-noheadings fillrows keep-empty-lines table-name= table-columns-limit=", ops: "p*", outside: true},
	"colrm":    {why: "cuts columns", ops: "tt", outside: true},
	"pr":       {why: "makes pages", short: "acdD:FfJmrtTve%h:i%l:n%N:o:s%S%w:W:", long: "columns= across double-space header= join-lines length= merge number-lines=? omit-header omit-pagination width=", ops: "p*", num: true, harmless: true, outside: true},
	"tr":       {why: "replaces characters", short: "cCdst", long: "complement delete squeeze-repeats truncate-set1", ops: "tt", least: 1, outside: true},
	"tsort":    {why: "sorts by order", ops: "p", outside: true},
	"look":     {why: "finds a beginning", short: "adft:", ops: "tp", outside: true},
	"shuf":     {why: "shuffles; not -o, --random-source, -r (no end)", short: "ei:n:z", long: "echo input-range= head-count= zero-terminated", ops: "p*", outside: true},
	"numfmt":   {why: "formats numbers", short: "d:z", long: "from= to= from-unit= to-unit= padding= round= suffix= format= field= header=? delimiter= grouping invalid= zero-terminated", ops: "t*", outside: true},
	"grep":     {why: "finds; not -f (a file of patterns), -R and --dereference-recursive (follow links)", short: grepShort, long: grepLong, ops: "tp*", num: true, first: "-e --regexp", harmless: true, outside: true, below: "-r --recursive"},
	"egrep":    {why: "grep -E", short: grepShort, long: grepLong, ops: "tp*", num: true, first: "-e --regexp", harmless: true, outside: true, below: "-r --recursive"},
	"fgrep":    {why: "grep -F", short: grepShort, long: grepLong, ops: "tp*", num: true, first: "-e --regexp", harmless: true, outside: true, below: "-r --recursive"},
	"rg":       {why: "finds; not --pre and --hostname-bin (run), -z (runs unpackers), -f, --ignore-file, --config's file, -L", short: rgShort, long: rgLong, ops: "tp*", first: "-e --regexp --files --type-list", outside: true, below: "*", dot: true, inject: []string{"--no-config"}},
	"sed":      {why: "edits a stream by a script that is read word for word; not -i and -f", short: "nErsuze:l:", long: "quiet silent regexp-extended separate unbuffered null-data expression= line-length= posix debug sandbox", ops: "tp*", first: "-e --expression", outside: true, inject: []string{"--sandbox"}, check: sedScripts},
	"awk":      {why: awkWhy, short: "F:v:", ops: "tp*", least: 1, ahead: true, outside: true, check: awkProgram},
	"gawk":     {why: awkWhy, short: "F:v:", ops: "tp*", least: 1, ahead: true, outside: true, check: awkProgram},
	"mawk":     {why: awkWhy, short: "F:v:", ops: "tp*", least: 1, ahead: true, outside: true, check: awkProgram},
	"jq":       {why: "queries JSON; not -f, -L, --slurpfile, --rawfile, --from-file", short: "rcnsejaSCMRh", long: "raw-output raw-output0 compact-output null-input slurp exit-status join-output ascii-output sort-keys color-output monochrome-output raw-input tab stream seq unbuffered indent= args jsonargs arg== argjson==", ops: "tp*", least: 1, harmless: true, outside: true, check: jqWords},
	"bc":       {why: "reckons; reads files only as operands", short: "lqsw", long: "mathlib quiet standard warn", ops: "p*", outside: true},

	// Sums and encodings.
	"md5sum":    {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"sha1sum":   {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"sha224sum": {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"sha256sum": {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"sha384sum": {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"sha512sum": {why: sumsWhy, short: "btz", long: sumsLong, ops: "p*", harmless: true, outside: true},
	"b2sum":     {why: sumsWhy, short: "btzl:", long: sumsLong + " length=", ops: "p*", harmless: true, outside: true},
	"shasum":    {why: sumsWhy, short: "bta:", long: "binary text algorithm=", ops: "p*", harmless: true, outside: true},
	"cksum":     {why: sumsWhy, short: "a:l:z", long: "algorithm= length= tag untagged zero raw base64", ops: "p*", harmless: true, outside: true},
	"sum":       {why: sumsWhy, short: "rs", long: "sysv", ops: "p*", harmless: true, outside: true},
	"base64":    {why: "encodes; -o writes elsewhere", short: "diw:", long: "decode ignore-garbage wrap=", ops: "p", outside: true},
	"base32":    {why: "encodes", short: "diw:", long: "decode ignore-garbage wrap=", ops: "p", outside: true},
	"basenc":    {why: "encodes", short: "diw:", long: "decode ignore-garbage wrap= base64 base64url base32 base32hex base16 base2msbf base2lsbf z85", ops: "p", outside: true},

	// Archives, listed or to standard output.
	"tar":     {raw: true, why: "only -t, without what runs a program or reaches another host", check: tarList, ops: "p*"},
	"unzip":   {why: "only -l, -Z, -v, -p, -t; not -T (sets the archive's time)", short: "lZvptqh1ms2C", ops: "p*", ahead: true, least: 1, need: "-l -Z -v -p -t", check: unzipWords, outside: true},
	"zipinfo": {why: "lists an archive", short: "12smlvhMtTzC", ops: "p*", ahead: true, least: 1, outside: true},
	"gzip":    {check: unpacks, why: "only -l, -t, and -c with -d", short: "cdltvqk", long: "list test stdout to-stdout decompress uncompress verbose quiet", ops: "p*", ahead: true, need: "-l -t -c --list --test --stdout --to-stdout", outside: true},
	"gunzip":  {check: unpacks, why: "only -c, -l, -t", short: "cltvq", long: "list test stdout to-stdout verbose quiet", ops: "p*", ahead: true, need: "-l -t -c --list --test --stdout --to-stdout", outside: true},
	"zcat":    {why: "unpacks to standard output", ops: "p*", least: 1},
	"xzcat":   {why: "unpacks to standard output", ops: "p*", least: 1, outside: true},
	"bzcat":   {why: "unpacks to standard output", ops: "p*", least: 1, outside: true},
	"zstdcat": {why: "unpacks to standard output", ops: "p*", least: 1, outside: true},
	"xz":      {check: unpacks, why: "only -l, -t, -c", short: "cdltvqk", long: "list test stdout to-stdout decompress uncompress verbose quiet robot", ops: "p*", ahead: true, need: "-l -t -c --list --test --stdout --to-stdout", outside: true},

	// Binaries.
	"readelf": {why: "shows an ELF file; not -w (may fetch debug data), --ctf", short: "ahlSegtsndurVAIWx:p:", long: "all file-header program-headers segments section-headers sections section-details symbols syms dyn-syms notes relocs unwind dynamic version-info arch-specific histogram wide demangle=? hex-dump= string-dump= section-groups", ops: "p*", least: 1, outside: true, listed: true},
	"nm":      {why: "shows symbols; not --plugin (loads code)", short: "aABCDghnopPrSsuvt:f:", long: "debug-syms print-file-name demangle=? dynamic defined-only extern-only no-demangle numeric-sort no-sort portability print-size print-armap size-sort undefined-only without-symbol-versions format= radix= special-syms", ops: "p*", outside: true, listed: true},
	"objdump": {why: "shows an object; not -W, -g, -S, --dwarf (may fetch debug data)", short: "adDfhprRstTxzwj:M:b:m:C", long: "archive-headers disassemble=? disassemble-all file-headers section-headers headers private-headers reloc dynamic-reloc full-contents syms dynamic-syms all-headers disassemble-zeroes wide section= disassembler-options= start-address= stop-address= no-show-raw-insn demangle=? prefix-addresses", ops: "p*", least: 1, outside: true, listed: true},
	"size":    {why: "shows sizes of sections", short: "ABdGotx", long: "format= radix= totals common", ops: "p*", outside: true, listed: true},
	"gofmt":   {why: "only lists or shows; not -w, -cpuprofile", short: "lesd", ops: "p*", ahead: true, need: "-l -d -e -s", below: "*", check: gofmtWords, outside: true},

	// Words and numbers.
	"echo":   {raw: true, why: "prints its words", ops: "t*", harmless: true, outside: true},
	"printf": {harmless: true, raw: true, why: "prints; not -v and %n (set a variable)", ops: "t*", least: 1, check: printfWords, outside: true},
	"true":   {raw: true, why: "does nothing", ops: "t*", harmless: true, outside: true},
	"false":  {raw: true, why: "does nothing", ops: "t*", harmless: true, outside: true},
	":":      {raw: true, why: "does nothing", ops: "t*", harmless: true},
	"seq":    {raw: true, why: "counts, up to a limit", short: "f:s:w", long: "format= separator= equal-width", ops: "ttt", least: 1, check: seqBounds, outside: true},
	"expr":   {raw: true, why: "reckons and compares text", ops: "t*", least: 1, outside: true},
	"factor": {why: "reckons", short: "h", long: "exponents", ops: "t*", outside: true},
	"test":   {raw: true, why: "tests files and text; numbers only if they are plain, not -v and -R (evaluate)", check: testWords, ops: "t*", outside: true},
	"[":      {raw: true, why: "test", check: testWords, ops: "t*", outside: true},
	"sleep":  {why: "waits, up to ten minutes", ops: "t", least: 1, check: sleepBound, outside: true},
	"pwd":    {why: "prints the folder", short: "LP", long: "logical physical", ops: "", outside: true},
	"date":   {why: "shows the time; not -s, -f, and no operand but +FORMAT", short: "uRI%d:r/", long: "utc universal rfc-email rfc-2822 rfc-3339= iso-8601=? date= reference=/ debug", ops: "t", check: dateFormat, outside: true},
	"cal":    {why: "shows a calendar", short: "13mjsywn:", ops: "ttt", outside: true},
	"set":    {raw: true, why: "only -e, -u and pipefail: the shell gives up earlier", check: setWords, ops: "t*"},
	"exit":   {why: "ends the shell", ops: "t"},

	// The shell and the system.
	"type":     {why: "says what a name is", short: "aftpP", ops: "t*", ahead: true, least: 1},
	"command":  {why: "only -v and -V: says what a name is", short: "vV", ops: "t*", ahead: true, least: 1, need: "-v -V"},
	"which":    {why: "finds programs", short: "as", long: "all", ops: "t*", least: 1, harmless: true, outside: true},
	"whereis":  {why: "finds programs", short: "bmsu", ops: "t*", least: 1, outside: true},
	"ulimit":   {why: "only shows", short: "aHS", ops: "", need: "-a"},
	"uname":    {why: "shows the system", short: "asnrvmpio", long: "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system", ops: "", outside: true},
	"arch":     {why: "shows the machine", ops: "", outside: true},
	"nproc":    {why: "counts processors", long: "all ignore=", ops: "", outside: true},
	"uptime":   {why: "shows a time", short: "psV", long: "pretty since", ops: "", outside: true},
	"free":     {why: "shows memory; not -s and -c (repeat)", short: "bkmghltwv", long: "bytes kibi mebi gibi kilo mega giga human lohi total wide si", ops: "", outside: true},
	"vmstat":   {why: "shows memory, once", short: "afmnstwdS:", ops: "", outside: true},
	"whoami":   {why: "shows the user", ops: "", outside: true},
	"id":       {why: "shows the user", short: "agGnruzZ", long: "group groups name real user zero context", ops: "t*", outside: true},
	"groups":   {why: "shows the user's groups", ops: "t*", outside: true},
	"logname":  {why: "shows the user", ops: "", outside: true},
	"users":    {why: "shows users", ops: "", outside: true},
	"who":      {why: "shows users; not --lookup (asks DNS)", short: "abdHlmpqrstTuw", long: "all boot dead heading login process count runlevel short time users message writable mesg", ops: "", outside: true},
	"w":        {why: "shows users; not -i (asks DNS)", short: "hsuof", ops: "t", outside: true},
	"tty":      {why: "shows the terminal", short: "s", long: "silent quiet", ops: "", outside: true},
	"locale":   {why: "shows locales", short: "amckv", long: "all-locales charmaps category-name keyword-name verbose", ops: "t*", outside: true},
	"getconf":  {why: "shows limits", short: "av:", ops: "tp", outside: true},
	"lscpu":    {why: "shows processors; not -s (another root)", short: "abce%Jp%xyBC%", long: "all online offline caches=? extended=? json parse=? hex physical bytes output-all", ops: "", outside: true},
	"lsblk":    {why: "shows disks", short: "abde:filmno:JPprstSzO", long: "all bytes nodeps fs json list paths noheadings inverse topology output-all output= exclude= tree=?", ops: "t*", outside: true},
	"findmnt":  {why: "shows mounts; not --poll", short: "aAbDefilJnPrsuvt:o:T/S:M/", long: "all ascii bytes df evaluate first-only json list noheadings pairs raw types= output= target=/ source= mountpoint=/ real", ops: "t", outside: true},
	"mount":    {why: "without operands shows mounts", short: "l", ops: "", outside: true},
	"hostname": {why: "shows the name; an operand sets it, -f and -i ask DNS", short: "s", long: "short", ops: "", outside: true},
	"ps":       {why: "shows processes; not the BSD e (environments)", short: "AadefFHjlLMNTwyZo:O:p:u:U:C:t:q:g:G:", long: "forest sort= no-headers no-heading headers format= pid= ppid= user= width= cols= columns= lines= rows= deselect group=", ops: "t", check: psWords, outside: true},
	"pgrep":    {why: "shows processes; pkill is another program", short: "aclfinovwxd:g:G:P:s:t:u:U:r:", long: "list-name list-full full count newest oldest exact inverse parent= uid= euid= group= delimiter= ignore-case runstates=", ops: "t", outside: true},
	"pidof":    {why: "shows processes", short: "scqx", ops: "t*", outside: true},
	"pstree":   {why: "shows processes", short: "acghH:lnpsStTuUZA", ops: "t", outside: true},
	"lsof":     {why: "shows open files; only with -n and -P, else it asks DNS, as it does about names of hosts; not -D (writes a cache), -r and +r (no end)", short: "nPaltUbi%p:u:c:d:", ops: "p*", check: lsofNames, outside: true},
	"ss":       {check: ssFilter, why: "shows sockets; not -K (closes), -D (writes), -F, -r and names of hosts (ask DNS), -E (no end)", short: "hHnalopmeitu46xwdsZzTMO0", long: "no-header numeric all listening options extended memory processes info summary tcp udp unix raw ipv4 ipv6 oneline", ops: "t*", outside: true},
	"netstat":  {why: "shows sockets; only with -n, else it asks DNS; not -r, -c", short: "nltuapxw46esiW", long: "numeric listening tcp udp all programs extend", ops: "", need: "-n --numeric", outside: true},
	"ifconfig": {why: "shows interfaces; an operand beside a name sets", short: "asv", ops: "", outside: true},
	"ip":       {raw: true, why: "only shows: addr, link, route, neigh", check: ipShow, ops: "t*", outside: true},
	"tput":     {why: "shows what the terminal can do: cols, lines, colors", check: tputWords, ops: "t", outside: true},
	"sw_vers":  {why: "shows the version of macOS", ops: "", outside: true},

	// Programs that run others; the others are judged by this table.
	"timeout": {why: "runs a program of this table", short: "vs:k:", long: "preserve-status foreground verbose signal= kill-after=", ops: "t*"},
	"xargs":   {why: "runs a program of this table none of whose flags writes; not -a (a list of names), -p and -o (the terminal), -J, -R and -S of the BSDs", short: "0rtxn:L:P:d:s:I:E:l%i%e%", long: "null no-run-if-empty verbose exit max-args= max-procs= max-chars= delimiter= max-lines=? replace=? eof=?", ops: "t*"},

	"go": {raw: true, why: "only env and version: the rest may build, download and run; not env -w", check: goWords, ops: "t*"},
}

// versions lists programs that are on the table with a single word only. Left out
// are programs that first consult the folder: for a version or a program of the
// project (rustup's proxies, yarn, pnpm, poetry, bundle, dotnet, gradle, bazel,
// swift, terraform), for plugins and settings that name code (pytest, composer,
// mvn, mypy, scala), or for a log folder (npm, npx). Also left out are programs for
// which this is uncertain (bun, deno, pip, gem, rake, php, kotlin). go would run
// another toolchain, but a variable prevents it. All programs run without the
// user's variables, so that JAVA_TOOL_OPTIONS, RUBYOPT and similar ones are empty.
var versions = map[string]string{
	"node": "--version -v", "python": "--version -V", "python3": "--version -V", "python2": "--version -V", "ruff": "--version", "uv": "--version",
	"ruby": "--version -v", "perl": "--version -v", "lua": "-v",
	"gcc": "--version", "g++": "--version", "cc": "--version", "c++": "--version", "clang": "--version", "clang++": "--version", "ld": "--version", "as": "--version", "make": "--version -v", "gmake": "--version", "cmake": "--version", "ninja": "--version", "meson": "--version", "gdb": "--version", "protoc": "--version",
	"java": "--version -version", "javac": "--version -version",
	"docker": "--version -v", "podman": "--version -v", "kubectl": "--version", "helm": "--version", "gh": "--version", "aws": "--version", "bash": "--version", "zsh": "--version", "sh": "--version",
	"less": "--version", "more": "--version", "man": "--version", "vim": "--version", "emacs": "--version", "curl": "--version -V", "wget": "--version -V", "ssh": "-V", "rsync": "--version", "openssl": "version", "gpg": "--version", "sqlite3": "--version -version", "psql": "--version -V",
	"env": "--version --help", "tee": "--version --help", "cp": "--version --help", "mv": "--version --help", "rm": "--version --help", "mkdir": "--version --help", "touch": "--version --help", "chmod": "--version --help", "ln": "--version --help", "nice": "--version --help", "watch": "--version", "yq": "--version -V", "tmux": "-V", "rpm": "--version", "dpkg": "--version", "apt": "--version", "apt-get": "--version", "brew": "--version", "ldd": "--version",
}

const (
	lsLong    = "all almost-all author escape ignore-backups directory classify=? file-type format= full-time group-directories-first no-group human-readable si dereference dereference-command-line hide= hyperlink=? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero color=? block-size="
	fdShort   = "HIguFa0psie:t:d:E:S:c:j:"
	fdLong    = "hidden no-ignore no-ignore-vcs case-sensitive ignore-case glob regex fixed-strings absolute-path print0 full-path extension= type= max-depth= min-depth= exact-depth= exclude= size= changed-within= changed-before= newer= older= max-results= color= threads= owner= prune one-file-system strip-cwd-prefix unrestricted show-errors"
	grepShort = "abcEFGhHiIlLnNopPqrsTuUvVwxyzZA:B:C:d:D:e:m:"
	grepLong  = "text byte-offset count extended-regexp fixed-strings basic-regexp perl-regexp no-filename with-filename ignore-case no-ignore-case files-with-matches files-without-match line-number only-matching quiet silent recursive no-messages initial-tab invert-match word-regexp line-regexp null null-data line-buffered binary after-context= before-context= context= regexp= max-count= include= exclude= exclude-dir= color=? colour=? binary-files= label= devices= directories= group-separator= no-group-separator"
	rgShort   = "e:iSswxvnNcloA:B:C:g:t:T:FPm:UuM:j:d:E:aHIr:0qpVhb."
	rgLong    = "regexp= ignore-case smart-case case-sensitive word-regexp line-regexp invert-match line-number no-line-number count count-matches files-with-matches files-without-match only-matching after-context= before-context= context= glob= iglob= glob-case-insensitive type= type-not= type-list type-add= fixed-strings pcre2 no-pcre2 max-count= multiline multiline-dotall unrestricted hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global no-ignore-dot no-ignore-exclude no-ignore-files no-require-git threads= max-columns= max-columns-preview max-depth= maxdepth= max-filesize= files sort= sortr= sort-files json stats color= colors= no-filename with-filename heading no-heading text binary encoding= replace= trim vimgrep null null-data quiet column no-column byte-offset passthru pretty context-separator= field-match-separator= field-context-separator= one-file-system no-messages no-config no-follow crlf engine= dfa-size-limit= regex-size-limit= line-buffered block-buffered mmap no-mmap include-zero no-unicode auto-hybrid-regex path-separator= debug version"
	diffLong  = "text ignore-blank-lines context=? minimal ifdef= ed show-function-line= ignore-case ignore-file-name-case ignore-matching-lines= rcs new-file show-c-function unidirectional-new-file brief recursive report-identical-files starting-file= initial-tab expand-tabs unified=? ignore-all-space ignore-space-change ignore-tab-expansion ignore-trailing-space strip-trailing-cr width= exclude= side-by-side suppress-common-lines left-column label= normal color=? no-dereference horizon-lines= speed-large-files tabsize= line-format= old-line-format= new-line-format= unchanged-line-format= old-group-format= new-group-format= unchanged-group-format= changed-group-format= suppress-blank-empty"
	awkWhy    = "works on lines by a program that is read token by token; not -f and -i"
	sumsWhy   = "adds up; not -c (a list of names)"
	sumsLong  = "binary text tag zero"
)

// findTests maps find's tests and actions to the kinds of their words: path (p) or
// text (t). Left out are -exec and -ok with programs that are not in this table,
// -delete, -fprint and similar ones (write), -fls, -files0-from (a list of names),
// and -follow.
var findTests = map[string]string{
	"-name": "t", "-iname": "t", "-path": "t", "-ipath": "t", "-wholename": "t", "-iwholename": "t", "-regex": "t", "-iregex": "t", "-regextype": "t", "-lname": "t", "-ilname": "t",
	"-type": "t", "-xtype": "t", "-size": "t", "-empty": "", "-atime": "t", "-ctime": "t", "-mtime": "t", "-amin": "t", "-cmin": "t", "-mmin": "t", "-used": "t",
	"-newer": "p", "-anewer": "p", "-cnewer": "p", "-newermt": "t", "-newerat": "t", "-newerct": "t", "-newermm": "p", "-neweraa": "p", "-newercc": "p", "-samefile": "p",
	"-perm": "t", "-user": "t", "-group": "t", "-uid": "t", "-gid": "t", "-nouser": "", "-nogroup": "", "-links": "t", "-inum": "t", "-readable": "", "-writable": "", "-executable": "", "-fstype": "t",
	"-maxdepth": "t", "-mindepth": "t", "-depth": "", "-d": "", "-prune": "", "-xdev": "", "-mount": "", "-daystart": "", "-noleaf": "", "-ignore_readdir_race": "", "-noignore_readdir_race": "", "-warn": "", "-nowarn": "",
	"-print": "", "-print0": "", "-printf": "t", "-ls": "", "-quit": "", "-true": "", "-false": "",
	"!": "", "-not": "", "-a": "", "-and": "", "-o": "", "-or": "", ",": "", "(": "", ")": "",
}

// gitTable lists the read-only subcommands of git. judgeGit handles git's global
// flags. All run with the overriding settings. The table contains no subcommand
// that contacts another host, writes, or by its nature runs a program of the user.
// Left out are --output, --ext-diff, --textconv, --no-index, --open-files-in-pager,
// --contents, --show-signature and -O.
var gitTable = map[string]*spec{
	"status":            {why: "compares; not -v (runs textconv); injected: submodules are not entered", short: "sbzu%", long: "short branch show-stash long porcelain=? untracked-files=? ignored=? column=? no-column ahead-behind no-ahead-behind renames no-renames find-renames=? null ignore-submodules=?", ops: "p*", inject: []string{"--ignore-submodules=dirty"}, check: gitSubmodules},
	"log":               {why: "shows history", short: gitDiffShort + gitLogShort, long: gitDiffLong + " " + gitLogLong, ops: "p*", num: true, inject: noPrograms, check: gitFormat},
	"show":              {why: "shows objects", short: gitDiffShort + gitLogShort, long: gitDiffLong + " " + gitLogLong, ops: "p*", num: true, inject: noPrograms, check: gitFormat},
	"whatchanged":       {why: "log under an old name", short: gitDiffShort + gitLogShort, long: gitDiffLong + " " + gitLogLong, ops: "p*", num: true, inject: noPrograms, check: gitFormat},
	"diff":              {why: "compares; operands outside the repository are read as files", short: gitDiffShort, long: gitDiffLong + " cached staged merge-base", ops: "p*", num: true, inject: []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}, check: gitSubmodules},
	"diff-tree":         {why: "compares trees", short: gitDiffShort + "rtcm", long: gitDiffLong + " stdin no-commit-id root cc pretty=? format= oneline", ops: "p*", inject: noPrograms, check: gitFormat},
	"diff-index":        {why: "compares", short: gitDiffShort + "m", long: gitDiffLong + " cached merge-base", ops: "p*", inject: []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}, check: gitSubmodules},
	"diff-files":        {why: "compares", short: gitDiffShort + "q0", long: gitDiffLong, ops: "p*", inject: []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}, check: gitSubmodules},
	"blame":             {why: "shows who wrote lines; not --contents, --ignore-revs-file, -S", short: "L:lstfneepwcbM%C%", long: "porcelain line-porcelain incremental root show-stats show-name show-number show-email date= since= score-debug first-parent reverse minimal abbrev=? color-lines color-by-age progress no-progress no-textconv ignore-rev= no-ignore-revs-file", ops: "p*", least: 1, inject: []string{"--no-textconv", "--no-ignore-revs-file"}},
	"annotate":          {why: "blame", short: "L:lstfnepwcbM%C%", long: "porcelain root show-name show-number show-email date= since= no-textconv no-ignore-revs-file", ops: "p*", least: 1, inject: []string{"--no-textconv", "--no-ignore-revs-file"}},
	"branch":            {why: "only lists", short: "avrqil", long: "all remotes list verbose quiet show-current contains= no-contains= merged=? no-merged=? points-at= sort= format= column=? no-column color=? no-color abbrev=? no-abbrev ignore-case", ops: "t*", check: gitLists},
	"tag":               {why: "only lists", short: "ln%i", long: "list contains= no-contains= merged=? no-merged=? points-at= sort= format= column=? no-column color=? ignore-case", ops: "t*", check: gitLists},
	"remote":            {why: "lists remotes; only get-url beside: the rest writes or connects", short: "v", long: "verbose all push", ops: "tt", check: gitVerb("get-url")},
	"rev-parse":         {why: "resolves names", short: "q", long: "verify quiet abbrev-ref=? short=? symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir git-path= is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository show-superproject-working-tree show-object-format=? all branches=? tags=? remotes=? glob= exclude= since= after= until= before= revs-only no-revs flags no-flags default= prefix= sq not end-of-options shared-index-path path-format= local-env-vars disambiguate=", ops: "t*", num: true},
	"rev-list":          {why: "lists commits", short: "n:gi", long: gitLogLong + " objects objects-edge count left-right max-count= bisect quiet header timestamp disk-usage=? unpacked filter= use-bitmap-index no-object-names in-commit-order", ops: "p*", num: true, check: gitFormat},
	"ls-files":          {why: "lists the index", short: "cdmoistuvzfkx:", long: "cached deleted modified others ignored stage directory no-empty-directory unmerged killed exclude= exclude-standard error-unmatch full-name abbrev=? debug deduplicate eol format= resolve-undo with-tree= recurse-submodules sparse", ops: "p*", check: gitNoRecurse},
	"ls-tree":           {why: "lists a tree", short: "drtlz", long: "long name-only name-status object-only full-name full-tree abbrev=? format=", ops: "tp*", least: 1},
	"cat-file":          {why: "shows objects; not --filters and --textconv", short: "petsZ", long: "batch=? batch-check=? batch-all-objects buffer unordered follow-symlinks allow-unknown-type", ops: "tt"},
	"merge-base":        {why: "finds a common ancestor", short: "a", long: "all octopus independent is-ancestor fork-point", ops: "t*", least: 1},
	"describe":          {why: "names a commit; not --dirty and --broken (run status)", long: "all tags contains abbrev=? candidates= exact-match debug long match= exclude= always first-parent", ops: "t*"},
	"shortlog":          {why: "sums up history; without a revision it reads standard input", short: "nsec" + "w%", long: "numbered summary email committer group= since= until= after= before= author= no-merges merges all format= first-parent", ops: "p*", check: gitRevision},
	"grep":              {why: "finds; not -O (runs), -f (a file of patterns), --no-index", short: "iIwvhHEGPFnlLzcpWoqraA:B:C:e:m:", long: "ignore-case word-regexp invert-match full-name extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only files-without-match null only-matching count heading break show-function function-context after-context= before-context= context= and or not all-match quiet cached untracked no-exclude-standard exclude-standard text max-depth= recursive no-recursive color=? no-color threads= max-count= no-textconv", ops: "tp*", num: true, first: "-e", inject: []string{"--no-textconv"}},
	"stash":             {why: "only list and show", short: gitDiffShort + "n:", long: gitDiffLong + " oneline format= pretty=? date= include-untracked only-untracked", ops: "tt", least: 1, num: true, check: gitStash},
	"reflog":            {why: "only show: the rest writes", short: "n:gi", long: "oneline date= format= pretty=? all max-count= since= until= grep= author= no-abbrev-commit abbrev-commit decorate=? no-decorate relative-date", ops: "tt", num: true, check: gitReflog},
	"for-each-ref":      {why: "lists references", short: "s", long: "count= shell perl python tcl sort= format= color=? points-at= merged=? no-merged=? contains=? no-contains=? ignore-case exclude=", ops: "t*", check: gitFormat},
	"show-ref":          {why: "lists references", short: "hdqs%", long: "head heads tags branches dereference hash=? verify abbrev=? quiet exists", ops: "t*"},
	"symbolic-ref":      {why: "with one operand shows", short: "q", long: "quiet short no-recurse", ops: "t", least: 1},
	"config":            {why: "only shows; not --file and --blob", short: "lz", long: "get get-all get-regexp get-urlmatch list global local system worktree name-only show-origin show-scope null type= bool int bool-or-int path includes no-includes default=", ops: "ttt", ahead: true, check: gitConfig},
	"worktree":          {why: "only list", short: "vz", long: "porcelain verbose", ops: "t", least: 1, check: gitVerb("list")},
	"check-ignore":      {why: "says what is ignored", short: "qvzn", long: "quiet verbose stdin non-matching no-index", ops: "p*"},
	"check-attr":        {why: "shows attributes", short: "az", long: "all stdin cached", ops: "t*"},
	"name-rev":          {why: "names commits", long: "tags refs= exclude= all name-only no-undefined always", ops: "t*"},
	"cherry":            {why: "compares branches", short: "v", long: "abbrev=? verbose", ops: "ttt"},
	"count-objects":     {why: "counts", short: "vH", long: "verbose human-readable", ops: ""},
	"show-branch":       {why: "lists branches", short: "arg%", long: "all remotes current topo-order date-order sha1-name no-name topics list merge-base independent color=? no-color more=?", ops: "t*"},
	"verify-pack":       {why: "shows a pack", short: "vs", long: "verbose stat-only", ops: "p*", least: 1},
	"version":           {why: "shows the version", long: "build-options", ops: ""},
	"notes":             {why: "only list", ops: "tt", least: 1, check: gitVerb("list")},
	"check-ref-format":  {why: "looks at a name", long: "branch normalize allow-onelevel no-allow-onelevel refspec-pattern", ops: "t"},
	"get-tar-commit-id": {why: "reads standard input", ops: ""},
}

var noPrograms = []string{"--no-ext-diff", "--no-textconv"}

const (
	gitDiffShort = "pusaRwbrzM%C%B%X%U%G:S:W"
	gitDiffLong  = "patch no-patch unified=? raw patch-with-raw indent-heuristic no-indent-heuristic minimal patience histogram anchored= diff-algorithm= stat=? compact-summary numstat shortstat dirstat=? cumulative summary patch-with-stat name-only name-status color=? no-color color-moved=? color-words=? word-diff=? word-diff-regex= no-renames find-renames=? find-copies=? find-copies-harder rename-empty no-rename-empty check full-index binary abbrev=? break-rewrites=? diff-filter= pickaxe-all pickaxe-regex relative=? no-relative text ignore-cr-at-eol ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= inter-hunk-context= function-context exit-code quiet no-ext-diff no-textconv src-prefix= dst-prefix= no-prefix default-prefix line-prefix= ita-invisible-in-index output-indicator-new= output-indicator-old= output-indicator-context= ignore-submodules=? stat-width= stat-count= stat-name-width="
	gitLogShort  = "n:gicmtEFPiL:"
	gitLogLong   = "oneline graph all branches=? tags=? remotes=? glob= exclude= decorate=? no-decorate decorate-refs= decorate-refs-exclude= format= pretty=? abbrev-commit no-abbrev-commit abbrev=? date= relative-date max-count= skip= since= after= until= before= author= committer= grep= invert-grep all-match regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges no-merges min-parents= max-parents= no-min-parents no-max-parents first-parent not reverse topo-order date-order author-date-order follow full-diff log-size boundary simplify-by-decoration simplify-merges full-history dense sparse ancestry-path=? left-right left-only right-only cherry-pick cherry-mark cherry merge cc combined-all-paths diff-merges= no-diff-merges source use-mailmap mailmap no-mailmap show-linear-break=? walk-reflogs reflog grep-reflog= parents children no-notes notes=? show-notes=? expand-tabs=? no-expand-tabs clear-decorations encoding= name-only name-status stdin bisect no-walk=? do-walk objects ignore-missing remove-empty"
)
