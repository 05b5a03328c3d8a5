// Command compare-builds runs two builds of kubectl-kyv on the same inputs and reports where an outcome differs.
//
//	compare-builds [FLAGS] OLD NEW
//
// OLD and NEW are binaries. README.md beside this folder lists the inputs and says how to run it.
//
// A case is a set of command lines in one folder. Compared for each command line:
//
//   - the outcome: stdout byte for byte, the exit code, the set of KYV-Dnn on stderr. A difference leads to exit code 1.
//   - the text of stderr. A difference is counted and listed, and does not change the exit code.
//
// Exit codes: 0 all outcomes are equal, 1 some differ, 2 the comparison could not run or was interrupted.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The areas, in the order in which they run.
var areas = []string{"corpus", "explain", "diff", "krm", "suites", "conformance", "catalogue", "generated"}

type settings struct {
	old, new    string
	tree        string
	conformance string
	renames     []rename
	areas       []string
	only        string
	pairs       int
	seed        uint64
	workers     int
	show        int
	keep        bool
	timeout     time.Duration
	// A folder for generated inputs.
	scratch string
}

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "compare-builds: %v\n", err)
		code = 2
	}
	os.Exit(code)
}

func parseFlags() (*settings, error) {
	s := &settings{}
	var chosen, renamed string
	flags := flag.NewFlagSet("compare-builds", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage: compare-builds [FLAGS] OLD NEW")
		flags.PrintDefaults()
	}
	flags.StringVar(&s.tree, "tree", ".", "the source tree whose case folders are run")
	flags.StringVar(&s.conformance, "conformance", os.Getenv("KYV_CONFORMANCE"),
		"a folder of Kyverno's policies and suites; by default $KYV_CONFORMANCE")
	flags.IntVar(&s.pairs, "pairs", 10000, "how many generated pairs of a policy and objects")
	flags.Uint64Var(&s.seed, "seed", 1, "the seed of the generated pairs")
	flags.StringVar(&chosen, "areas", strings.Join(areas, ","), "which areas to run")
	flags.StringVar(&s.only, "only", "", "run only cases whose name contains this text")
	flags.StringVar(&renamed, "renamed", "",
		"a file of lines `OLD => NEW`: words of messages that were renamed. A report or stderr that differs only in them "+
			"counts as renamed; printed objects and diffs never do")
	flags.IntVar(&s.workers, "workers", runtime.NumCPU(), "how many cases run at a time")
	flags.IntVar(&s.show, "show", 20, "how many distinct differences of each class to print")
	flags.BoolVar(&s.keep, "keep", false, "keep the inputs of all generated pairs, not only of those that differ")
	flags.DurationVar(&s.timeout, "timeout", 60*time.Second, "how long one run may take")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() != 2 {
		flags.Usage()
		return nil, fmt.Errorf("expected two binaries, found %d arguments", flags.NArg())
	}
	for _, name := range strings.Split(chosen, ",") {
		if !slices.Contains(areas, name) {
			return nil, fmt.Errorf("no area %q: there are %s", name, strings.Join(areas, ", "))
		}
		s.areas = append(s.areas, name)
	}
	var err error
	for target, path := range map[*string]string{&s.old: flags.Arg(0), &s.new: flags.Arg(1), &s.tree: s.tree} {
		if *target, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	if renamed != "" {
		s.renames, err = readRenames(renamed)
	}
	return s, err
}

func run() (int, error) {
	s, err := parseFlags()
	if err != nil {
		return 2, err
	}
	for _, binary := range []string{s.old, s.new} {
		if ended := execute(s, binary, s.tree, "", []string{"version"}); ended.code != "0" {
			return 2, fmt.Errorf("%s version: %s: %s", binary, ended.code, ended.stderr)
		}
	}
	if s.scratch, err = os.MkdirTemp("", "compare-builds-"); err != nil {
		return 2, err
	}
	defer os.Remove(s.scratch) // Fails where inputs of a difference are left, which is meant.
	cases, err := collect(s)
	if err != nil {
		return 2, err
	}
	start := time.Now()
	total := newReport(s)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	compareAll(s, cases, total, interrupted)
	total.print(os.Stdout, time.Since(start))
	if s.keep {
		fmt.Printf("inputs: %s\n", s.scratch)
	}
	if total.broken != nil {
		return 2, total.broken
	}
	if total.different() {
		return 1, nil
	}
	return 0, nil
}

// Runs all cases, some at a time, and adds up what was found. A signal ends it early.
func compareAll(s *settings, cases []testCase, total *report, interrupted <-chan os.Signal) {
	next := make(chan int)
	var workers sync.WaitGroup
	var lock sync.Mutex
	for range s.workers {
		workers.Go(func() {
			for at := range next {
				result := compareCase(s, &cases[at])
				lock.Lock()
				total.add(at, &cases[at], &result)
				lock.Unlock()
			}
		})
	}
	shown := time.Now()
	var early error
feed:
	for at := range cases {
		select {
		case next <- at:
		case <-interrupted:
			early = fmt.Errorf("interrupted after %d of %d cases", at, len(cases))
			break feed
		}
		if time.Since(shown) > 30*time.Second {
			shown = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d cases\n", at, len(cases))
		}
	}
	close(next)
	workers.Wait()
	if early != nil {
		total.broken = early
	}
}
