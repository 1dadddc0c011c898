// Finding the editor: lockfiles, and which of them is meant.
//
// An editor is what a lockfile says: {port, token}, and in the edition `cli` also {pid, name, folders}.

import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir, platform } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

// Looks for editors. It reads everything anew each time, for editors come and go.
export class Discovery {
  constructor(edition) {
    this.edition = edition;
  }

  // Those to connect to, best first. `last` is the editor that we were connected to before.
  editors(last = null) {
    let found = this.lockfiles();
    if (this.edition === "guide") return found; // Nothing in them says which is meant: the first that lets us in.
    found = this.inThisFolder(found.filter((editor) => this.isAlive(editor.pid)));
    if (last !== null) {
      const looks = ({ name, folders }) => JSON.stringify([name, folders]);
      const same = found.filter((editor) => looks(editor) === looks(last));
      if (same.length > 0) found = same;
    }
    return found.length === 1 ? found : []; // Of several, the user has to choose.
  }

  // What the sound lockfiles say, the newest first. Which name a file has does not matter.
  lockfiles() {
    const folder = join(this.dataHome(), "amp", "ide");
    let names = [];
    try {
      names = readdirSync(folder).filter((name) => name.endsWith(".json"));
    } catch {
      // There has never been an editor here.
    }
    const dated = names.flatMap((name) => {
      try {
        const path = join(folder, name);
        const about = statSync(path);
        return about.isFile() ? [{ time: about.mtimeMs, editor: this.read(path) }] : [];
      } catch {
        return []; // Torn, unreadable, gone meanwhile, or no lockfile at all: as if it were not there.
      }
    });
    return dated.sort((a, b) => b.time - a.time).map(({ editor }) => editor);
  }

  dataHome() {
    if (this.edition === "cli") {
      if (process.env.AMP_DATA_HOME) return process.env.AMP_DATA_HOME;
      if (platform() === "linux" && process.env.XDG_DATA_HOME) return process.env.XDG_DATA_HOME;
    }
    return join(homedir(), ".local", "share");
  }

  // Throws where a key is missing, or has another type than the edition says.
  read(path) {
    const says = JSON.parse(readFileSync(path, "utf8"));
    const { port, authToken: token, pid, ideName: name, workspaceFolders: folders } = says;
    const check = (sound) => {
      if (!sound) throw new TypeError(`${path} is no lockfile`);
    };
    check(Number.isInteger(port) && port > 0 && port < 65536 && typeof token === "string");
    if (this.edition === "guide") return { port, token };
    check(Number.isInteger(pid) && typeof name === "string");
    check(Array.isArray(folders) && folders.every((folder) => typeof folder === "string"));
    return { port, token, pid, name, folders };
  }

  isAlive(pid) {
    if (pid <= 0) return false; // For `kill`, these are groups of processes.
    try {
      return process.kill(pid, 0); // Sends nothing, and says whether it could.
    } catch (error) {
      return error.code === "EPERM"; // There is one, of another user.
    }
  }

  // Those that have the working directory open; where there are none, those with a folder above or below it.
  inThisFolder(editors) {
    const here = resolved(process.cwd());
    const folders = (editor) => editor.folders.filter(isAbsolute).map(resolved);
    const exact = editors.filter((editor) => folders(editor).includes(here));
    if (exact.length > 0) return exact;
    return editors.filter((editor) => folders(editor).some((f) => here.startsWith(f) || f.startsWith(here)));
  }
}

// Without links, and with a slash at its end: `/a/b` is not inside of `/a/bc`, `/a/b/` is inside of `/a/`.
function resolved(folder) {
  let real = resolve(folder);
  try {
    real = realpathSync(folder);
  } catch {
    // A folder that is not there any more has its name only.
  }
  return real.endsWith("/") ? real : real + "/";
}
