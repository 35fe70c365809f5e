// What is selected of a transaction: of each file some of its changes, or all of it.

export class Selection {
  /** Nothing, of these files; what was selected before of files that are the same still is. */
  constructor(files, before) {
    this.files = files.map((file) => ({ key: `${file.path}\n${file.hash}`, taken: new Uint8Array(Math.max(file.runs, 1)) }));
    const known = new Map((before?.files ?? []).map((file) => [file.key, file.taken]));
    for (const file of this.files) {
      const taken = known.get(file.key);
      if (taken?.length === file.taken.length) file.taken = taken;
    }
  }

  /** The changes in all, a file that is taken as a whole being one. */
  get total() {
    return this.files.reduce((total, file) => total + file.taken.length, 0);
  }

  get count() {
    return this.files.reduce((count, { taken }) => count + sum(taken), 0);
  }

  has(file, run) {
    return this.files[file].taken[run ?? 0] === 1;
  }

  /** `all`, `some` or `none`. */
  of(file) {
    return word(sum(this.files[file].taken), this.files[file].taken.length);
  }

  get all() {
    return word(this.count, this.total);
  }

  set(file, run, isTaken) {
    this.files[file].taken[run] = isTaken ? 1 : 0;
  }

  setFile(file, isTaken) {
    this.files[file].taken.fill(isTaken ? 1 : 0);
  }

  setAll(isTaken) {
    this.files.forEach((_, file) => this.setFile(file, isTaken));
  }

  /** As the server takes it: neighbouring changes together. */
  request() {
    return this.files.map(({ taken }, file) => {
      const state = this.of(file);
      if (state !== "some") return state === "all" ? "whole" : "nothing";
      const runs = [];
      taken.forEach((isTaken, run) => {
        if (!isTaken) return;
        if (runs.at(-1)?.[1] === run) runs.at(-1)[1] += 1;
        else runs.push([run, run + 1]);
      });
      return { runs };
    });
  }
}

const sum = (taken) => taken.reduce((sum, one) => sum + one, 0);

const word = (count, total) => (count === 0 ? "none" : count === total ? "all" : "some");
