// admission-recorder SERVER CERTIFICATE-AUTHORITY records objects as an API server passes them to mutating admission
// webhooks. It expects the token of an administrator in the environment variable TOKEN.
//
// It registers a webhook of its own that changes nothing, then reads objects from stdin, one JSON document a line, and
// creates each as a dry run. Namespaces and service accounts that objects name are created before. For each line it
// prints one, in the same order:
//
//	{"admitted": OBJECT, "code": 201}                      what the webhook received, and the status code of the answer
//	{"admitted": OBJECT, "code": 422, "message": "…"}      the server refused the object after webhooks
//	{"code": 400, "message": "…"}                          the server refused it before webhooks
//	{"created": OBJECT, "code": 201}                       a kind that webhooks never get: the answer of the dry run
//
// The code is 0 for a kind that the server does not serve. It ends when stdin does.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Requests under way at a time.
const workers = 24

// Lines read ahead of the line that is printed next.
const readAhead = 1024

type record struct {
	Admitted json.RawMessage `json:"admitted,omitempty"`
	Created  json.RawMessage `json:"created,omitempty"`
	Code     int             `json:"code"`
	Message  string          `json:"message,omitempty"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: TOKEN=… admission-recorder SERVER CERTIFICATE-AUTHORITY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Getenv("TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, "admission-recorder:", err)
		os.Exit(1)
	}
}

func run(address, authority, token string) error {
	server, err := connect(address, authority, token)
	if err != nil {
		return err
	}
	hook, err := startWebhook()
	if err != nil {
		return err
	}
	if err := hook.register(server); err != nil {
		return err
	}
	return errors.Join(recordAll(server, hook, os.Stdin, os.Stdout), hook.remove(server))
}

type job struct {
	object []byte
	user   string
	result chan record
}

func recordAll(server *server, hook *webhook, from io.Reader, to io.Writer) error {
	jobs := make(chan job)
	results := make(chan chan record, readAhead)
	for range workers {
		go func() {
			for job := range jobs {
				job.result <- recordOne(server, hook, job.object, job.user)
			}
		}()
	}
	input := bufio.NewReaderSize(from, 1<<20)
	var readError error
	go func() {
		defer close(results)
		defer close(jobs)
		for number := 0; ; number++ {
			line, err := input.ReadBytes('\n')
			if len(line) > 0 {
				result := make(chan record, 1)
				results <- result
				jobs <- job{line, hook.name + "-" + strconv.Itoa(number), result}
			}
			if err != nil {
				if err != io.EOF {
					readError = err
				}
				return
			}
		}
	}()
	output := bufio.NewWriterSize(to, 1<<20)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for result := range results {
		if err := encoder.Encode(<-result); err != nil {
			return err
		}
		// A caller that waits for this answer gets it.
		if len(results) == 0 {
			if err := output.Flush(); err != nil {
				return err
			}
		}
	}
	if readError != nil {
		return readError
	}
	return output.Flush()
}

// The user of a request is what the webhook finds the object by: nothing of the object itself has to be changed.
func recordOne(server *server, hook *webhook, object []byte, user string) record {
	path, err := server.prepare(object)
	if err != nil {
		return record{Message: err.Error()}
	}
	hook.expect(user)
	code, answer, err := server.create(path+"?dryRun=All", object, user)
	admitted := hook.take(user)
	if err != nil {
		return record{Admitted: admitted, Message: err.Error()}
	}
	result := record{Admitted: admitted, Code: code}
	if code < 300 {
		if admitted == nil {
			result.Created = answer
		}
		return result
	}
	result.Message = statusMessage(answer)
	return result
}
