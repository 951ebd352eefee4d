package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promises are what a user may rely on, with the tests that hold each, by package, and what these go over.
var promises = []struct {
	says  string // what the promise is
	tests string // "package TestName, TestName; package TestName"
	over  string
	quote string // how README or another document says it, where one does
}{
	{"An acknowledged write survives a killed process", "store TestKillAtRandom, TestKillAtPoints, TestKillAtCalls, TestLessMemory; engine TestKill; serve/httpapi TestShutdownUnderLoad", "random moments, named points, system calls; less memory afterwards", "An acknowledged write survives `kill -9`"},
	{"It survives a power cut", "store TestPowerCut; engine TestPowerCut, TestPowerCutOfFit", "all or parts of what was not synced", "It survives a power cut"},
	{"A write is stored as a whole or not at all", "engine TestAddIsAllOrNothing, TestAddCancelledAtAnyMoment, TestPatchIsAtomicAndDurable; store TestKillBigBatch", "errors, deadlines, kills", "An `Add` is atomic"},
	{"A search, a batch and a walk see one committed state", "engine TestStress, TestSearchBatchSeesOneState, TestAllIsOneState", "during writes, fits, Close", "A search sees one committed state"},
	{"A filter returns all documents that match, and no others", "engine TestFilteredSearch, TestFilterByID; index TestNarrowFilters; engine/remote/backendtest TestMemory", "modes, index kinds, other engines; metadata and id", "so you get as many"},
	{"The pages of a list have each document that stays stored once", "engine TestListPages; engine/remote/backendtest TestMemory; serve/httpapi TestListPages; serve/mcp TestList", "Go, other engines, HTTP, MCP; writes meanwhile", ""},
	{"Pages of a search neither repeat nor miss a hit, or are refused", "engine TestPages, TestPagesEnd; serve/mcp TestSearchPages", "modes, fusions, chunks, rerankers", ""},
	{"An index finds what it holds", "index TestModel, TestRecallAfterDeletes, TestHardShapes", "kinds, metrics, deletions", ""},
	{"A disk that fails is an error", "store TestSystemCallsFail, TestSystemCallsFailInRecovery, TestFewDescriptors; engine TestSystemCallsFail", "each system call, four errors", "If the disk fails during compaction"},
	{"A full or read-only disk is an error; deletes make room", "store TestDiskFull, TestOpenAfterKillOnFullDisk, TestOthersFillTheDisk, TestReadOnlyDisk", "writes, deletes, Close", "A full disk is an error"},
	{"Damage is found when data is read", "store TestDamage, TestDamagedTable; engine TestDamagedSnapshots, TestLateDamage", "flipped bits, cut and missing files", "Corruption is detected when data is read"},
	{"A backup is one committed state, and is restored whole or not", "store TestBackupConcurrentWithWriter, TestRestoreIsAllOrNothing, TestRestoreForged", "writers, kills, forged files", "A backup is one committed state"},
	{"A folder of other files stays unchanged", "store TestForeignFolders, TestFirstMoments, TestMisplaced, TestOnlyOursIsRemoved; serve/collections TestConcurrentUse", "every opening", "A folder that holds other files"},
	{"Files of another database or copy are noticed", "store TestForeignRecords, TestTableOfCopy; engine TestMixedFiles", "each kind of file", ""},
	{"A database refuses another model", "engine TestOtherEncoderIsRefused, TestOtherSourceIsRefused", "local ones, ones behind a URL", "refuses a model that it was not made with"},
	{"Earlier formats open", "store TestFormat1, TestFormat1Killed; engine TestEarlierSnapshots", "all that were kept", ""},
	{"Every call obeys its context", "engine TestEveryCallObeysItsContext, TestCloseDuringUse, TestDeadlines; serve/httpapi TestDeadlines; serve/mcp TestDeadlines; serve/share TestDeadlines", "all calls; 4 MB by Go, HTTP, MCP, other processes", ""},
	{"Disk use is at most twice the live documents after Compact", "engine TestSpaceFollowsBytes; store TestSpace, TestReclaim", "ten full rewrites", ""},
	{"Space of removed documents comes back at rest", "engine TestSpaceAtRest", "rewrites, deletion of all", ""},
	{"Memory is bounded by `--max-memory` and the files", "engine TestMaxMemory, TestHostileManifest", "parts; manifests that lie", ""},
	{"A server is ready only if a write would succeed", "store TestWritable, TestOthersFillTheDisk; serve/httpapi TestReady", "full, missing, failed disks; read-only servers", "only if a write would succeed"},
	{"Clients take bounded memory and time", "serve/httpapi TestBodiesTakeBoundedMemory, TestSlowClients, TestIdleConnections, TestOverload", "bodies, gzip, connections", ""},
	{"A request needs its key, and names the literal document", "serve/httpapi TestKeys, TestReadOnly, TestMCPMayWrite, TestPathsAreLiteral, TestOddIDs", "every route and method", ""},
	{"Collections are used from every process, and closed when idle", "serve/collections TestTwoSets, TestIdle, TestMany, TestFailedCreate; cmd/lexsem/internal/command TestCollectionOfAServer", "commands, servers; 200 descriptors", ""},
	{"The same calls get the same answers", "serve/collections TestAlike", "random programs; index kinds, token states, other process, HTTP, pgvector", ""},
	{"Another process gets what the server process gives", "serve/share TestConformance, TestHolderKilled, TestHostilePeers", "every call; kills; garbage", ""},
	{"Other users of the machine read nothing", "store TestFilesAreTheOwners; serve/share TestOtherUsers; cmd/lexsem/internal/command TestOthersReadNothing", "files, socket, caches", ""},
	{"Keys and passwords are never printed", "cmd/lexsem/internal/command TestNoCommandPrintsASecret, TestNoErrorHoldsAKey, TestNoFileHoldsAKey", "every command", ""},
	{"Damage in a file costs only the text after it", "ingest/files TestTextBeforeDamage, TestMutations; ingest/folder TestTextBeforeDamage", "21 kinds; cuts, flipped bytes, encodings; folders", ""},
	{"A folder that was moved keeps its documents", "ingest/folder TestMovedRoot", "by its files, by `--moved`", ""},
	{"Texts stored words first get their vectors", "engine TestWordsFirst, TestWordsFirstMixed, TestWordsFirstEdits, TestWordsFirstTokenStates, TestKill", "deletes, patches, token states, backups, kills", ""},
	{"No text of a query is an error, and what it excludes never returns", "engine TestOddQueries, TestExcludedNeverReturn", "180 odd queries, modes", ""},
	{"A name that stands in a text is on the first page; its places are all found", "engine TestExact, TestPlaces", "generated code; grep", ""},
	{"Boosts, sorts and groups hold on every page", "engine TestBoost, TestSort, TestGroupBy", "modes, pages, explanations", ""},
	{"A small database takes little space", "engine TestSpaceOfMarkdown", "parts; token states or none", ""},
	{"No link leads out of an indexed folder", "ingest/folder TestLinks, TestSwaps", "also as a file is opened", ""},
	{"Downloads that differ are refused", "internal/provision TestExtract, TestExtractTruncated, TestCacheDamage", "cut at each byte", ""},
	{"`--offline` opens no connection", "internal/provision TestOfflineMissing", "no model there", "`--offline` opens no network connection"},
	{"A server ends within its drain", "serve/httpapi TestDrainHasAnEnd, TestServeEndsWhateverRuns; cmd/lexsem/internal/command TestServeEndsWithItsContext", "calls that ignore contexts", "Running requests have 30 s"},
	{"Pages of other sites cannot use a server", "serve/httpapi TestHost, TestOrigin", "DNS rebinding, origins", "This stops DNS rebinding"},
	{"HTTP answers as /openapi.json says", "serve/httpapi TestRoutesAreDescribed", "every route", ""},
	{"No message ends an MCP session", "serve/mcp TestGarbage, TestCancelledCallIsNotAnswered", "malformed, cancelled", ""},
	{"What was interrupted goes on", "engine TestFitGoesOn, TestKillReembed, TestImportGoesOn; engine/remote/backendtest TestMigrateGoesOn", "fit, reembed, import, migrate", "resumes after a kill"},
	{"A fitted bridge serves only if it finds more", "engine TestFitChoosesAndSurvives", "", "only if it finds more"},
	{"A change of the model is one step", "engine TestReembed", "writes meanwhile", "The new vectors replace the old ones in one step"},
	{"An export comes back bit for bit", "engine TestExportRoundTrip, TestTermsInExports, TestImagesExported", "vectors, terms, images", ""},
	{"A restored database answers alike", "engine TestRestoredSearchesAlike", "", ""},
	{"The index kind stays as chosen", "engine TestIndexIsKept", "kinds, openings", ""},
	{"A file that cannot be read keeps its documents", "ingest/folder TestFailures", "", "its stored documents stay"},
	{"What Git ignores is not indexed", "ingest/folder TestIgnoreAsGit", "", "what git or `.lexsemignore` ignores are left out"},
	{"Operators hold in every call", "engine TestOperatorsAlikeInEachCall", "batch, explain, vector", "may have operators, in every mode"},
	{"Timestamps are instants", "engine/filter TestTimestamps", "offsets, fractions", "are compared as instants"},
	{"An explanation adds up to the score", "engine TestExplainAddsUp, TestExplainRanksAsSearch", "modes, variants", "shows what each word and token adds to the score"},
	{"If a reranker fails, so does the search", "engine TestRerankFails, TestRerankHangs", "", "If the reranker fails, the search fails"},
	{"No text drives a terminal", "cmd/lexsem/internal/command TestNothingSpeaksToTheTerminal", "", ""},
	{"Commands in the guide run as shown", "cmd/lexsem/internal/command TestWalkthrough", "", "A test runs them in order"},
	{"Setting the clock changes nothing", "internal/dev/house TestNoDurationsByTheWallClock; ingest/folder TestRacy", "code; files of the future", ""},
}

const promisesBegin, promisesEnd = "<!-- promises -->\n", "<!-- end of promises -->\n"

// promiseTable is the table as the document has it.
func promiseTable() string {
	var b strings.Builder
	b.WriteString(promisesBegin + "| promise | tests | over |\n|---|---|---|\n")
	for _, p := range promises {
		var tests []string
		for _, of := range strings.Split(p.tests, "; ") {
			where, names, _ := strings.Cut(of, " ")
			tests = append(tests, filepath.Base(where)+" "+strings.ReplaceAll(names, "Test", ""))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.says, strings.Join(tests, "; "), p.over)
	}
	return b.String() + promisesEnd
}

// TestPromises: the table of promises is the document's, each of its tests exists, and each promise of README is in it.
func TestPromises(t *testing.T) {
	tests := map[string]map[string]bool{} // by package
	for _, p := range promises {
		for _, of := range strings.Split(p.tests, "; ") {
			where, names, ok := strings.Cut(of, " ")
			if !ok {
				t.Fatalf("%q names no test", of)
			}
			if tests[where] == nil {
				tests[where] = testsOf(t, filepath.Join("../../..", where))
			}
			for _, name := range strings.Split(names, ", ") {
				if !tests[where][name] {
					t.Errorf("%q is said to be held by %s of %s, which does not exist", p.says, name, where)
				}
			}
		}
	}
	all := documents(t)
	var text strings.Builder
	for _, d := range all {
		text.WriteString(d)
	}
	for _, p := range promises {
		if !strings.Contains(text.String(), p.quote) {
			t.Errorf("no document says %q any more", p.quote)
		}
	}
	_, section, ok := strings.Cut(all["README.md"], "\n## Promises\n")
	said := 0
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		said++
		if !slices.ContainsFunc(promises, func(p struct{ says, tests, over, quote string }) bool {
			return p.quote != "" && strings.Contains(line, p.quote)
		}) {
			t.Errorf("README promises what the table lacks: %s", line)
		}
	}
	if !ok || said < 5 {
		t.Errorf("README has %d promises", said)
	}

	name := "../../../docs/reliability.md"
	doc := all["docs/reliability.md"]
	before, rest, begins := strings.Cut(doc, promisesBegin)
	_, after, ends := strings.Cut(rest, promisesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table: %s", name, promisesBegin)
	}
	want := before + promiseTable() + after
	switch {
	case *update:
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case doc != want:
		t.Errorf("the table of %s is not that of promises_test.go; run go test ./internal/dev/house -run TestPromises -update", name)
	}
}

var testFunc = regexp.MustCompile(`^Test[A-Z0-9]`)

// testsOf are the tests in the files of a folder, whatever system they are for.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files of tests, %v", dir, len(files), err)
	}
	names := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && testFunc.MatchString(fn.Name.Name) {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}
