// Print what Flux's own libraries say of each object that stands, as JSON, on standard input: kstatus alone, and the
// expressions of a Kustomization.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type verdict struct {
	Expressions string `json:"expressions"`
	Kstatus     string `json:"kstatus"`
	Message     string `json:"message"`
}

func main() {
	var given struct {
		Expressions kustomize.HealthCheckExpressions `json:"expressions"`
		Objects     []json.RawMessage                `json:"objects"`
	}
	check(json.NewDecoder(os.Stdin).Decode(&given))
	evaluator, err := cel.NewStatusEvaluator(&given.Expressions)
	check(err)
	verdicts := []verdict{}
	for _, text := range given.Objects {
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(text)) // whole numbers stay whole, as from the API server
		flux, err := evaluator.Evaluate(context.Background(), object)
		check(err)
		plain, err := status.Compute(object)
		check(err)
		verdicts = append(verdicts, verdict{flux.Status.String(), plain.Status.String(), plain.Message})
	}
	check(json.NewEncoder(os.Stdout).Encode(verdicts))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
