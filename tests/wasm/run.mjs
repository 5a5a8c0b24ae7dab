// Runs pytest in the CPython that Pyodide brings: node run.mjs NODE_MODULES PROJECT SITE [pytest's arguments]
import { pathToFileURL } from "node:url";

const [, , modules, project, site, ...given] = process.argv;
const { loadPyodide } = await import(pathToFileURL(`${modules}/pyodide/pyodide.mjs`).href);
const python = await loadPyodide();
for (const [place, root] of Object.entries({ "/site": site, "/project": project })) {
  python.FS.mkdirTree(place);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, place);
}
python.globals.set("GIVEN", python.toPy(given));
const code = python.runPython(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/project/tests/wasm", "/site", "/project", "/project/tests", "/project/tests/unit/plan"]
os.chdir("/project")
print("Python", sys.version)
import pytest
int(pytest.main(["-c", "/project/tests/wasm/pytest.ini", "--rootdir", "/project", "-p", "cannot", *GIVEN]))
`);
process.exit(code);
