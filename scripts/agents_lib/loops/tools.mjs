// The tools of an agent in Node, run in the project's folder: the same as tools.py.

import { execFileSync } from "node:child_process";
import fs from "node:fs";

const SYSTEM = "You are an agent that works on the project in the current folder. Call tools until the task is done.\n\n";

export function readFile({ path }) {
  return fs.readFileSync(path, "utf8");
}

export function runCommand({ command }) {
  return execFileSync("bash", ["-c", command], { encoding: "utf8" }).trim() || "(nothing)";
}

export function editFile({ path, old, new: put }) {
  const text = fs.readFileSync(path, "utf8");
  if (!text.includes(old)) return "The text is not in the file.";
  fs.writeFileSync(path, text.replace(old, put));
  return "Edited.";
}

export const TOOLS = [
  { name: "read_file", description: "Read a file of the project.", names: ["path"], run: readFile },
  { name: "run_command", description: "Run a command in the project's folder and return what it prints.", names: ["command"], run: runCommand },
  { name: "edit_file", description: "Replace a text in a file.", names: ["path", "old", "new"], run: editFile },
];

export function schema(names) {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { type: "object", properties, required: names, additionalProperties: false };
}

export function call(name, input) {
  return TOOLS.find((tool) => tool.name === name).run(typeof input === "string" ? JSON.parse(input) : input);
}

/** What the command line and the project say. */
export function given() {
  const [url, model, prompt, packages, ...rest] = process.argv.slice(2);
  const headers = JSON.parse(process.env.AGENT_HEADERS || "{}");
  return { url, model, prompt, packages, rest, headers, instructions: SYSTEM + fs.readFileSync("AGENTS.md", "utf8") };
}

/** Asks again where an answer breaks off. */
export async function patiently(ask) {
  for (let left = 3; ; left--) {
    try {
      return await ask();
    } catch (error) {
      if (!left || error.status < 500) throw error;
    }
  }
}
