// Print what Argo CD's own library says of the health of each object that stands, as JSON, on standard input.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/argoproj/gitops-engine/pkg/health"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// script is a health check in Lua, as gitops-engine asks for one: Argo CD's own interpreter, with the libraries that
// Argo CD opens for a script of the ConfigMap.
type script string

func (text script) GetResourceHealth(object *unstructured.Unstructured) (*health.HealthStatus, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
	} {
		opened := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(opened, lua.LString(library.name)); err != nil {
			return nil, err
		}
	}
	given, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	value, err := luajson.Decode(state, given)
	if err != nil {
		return nil, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(string(text)); err != nil {
		return nil, err
	}
	answer, err := luajson.Encode(state.Get(-1))
	if err != nil {
		return nil, err
	}
	found := &health.HealthStatus{}
	return found, json.Unmarshal(answer, found)
}

func main() {
	var given struct {
		Script  script           `json:"script"`
		Objects []map[string]any `json:"objects"`
	}
	check(json.NewDecoder(os.Stdin).Decode(&given))
	verdicts := []*health.HealthStatus{}
	for _, object := range given.Objects {
		said, err := health.GetResourceHealth(&unstructured.Unstructured{Object: object}, given.Script)
		check(err)
		verdicts = append(verdicts, said)
	}
	check(json.NewEncoder(os.Stdout).Encode(verdicts))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
