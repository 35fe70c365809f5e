// Colours for the words of a line. It is looked at by itself, as it stands in a diff, so a text that began in an earlier line
// is not known; where nothing is known of a language, a line has no colours.

/** How comments begin, and whether a single quote is a string; by the endings of names. */
const FAMILIES = [
  { comment: "//", quote: false, endings: "rs c h cc cpp hpp java go kt kts swift cs scala zig" },
  { comment: "//", quote: true, endings: "js mjs cjs jsx ts mts tsx php dart groovy scss less" },
  { comment: "#", quote: true, endings: "py pyi rb sh bash zsh fish pl pm r toml yaml yml mk cmake tf nix ex exs jl Dockerfile Makefile" },
  { comment: "--", quote: true, endings: "sql lua hs elm adb ads" },
  { comment: null, quote: false, endings: "json jsonl" },
];

const KEYWORDS = new Set(`abstract and as async await begin bool break case catch class const continue crate def default defer del
  delete do elif else elsif end enum except export extends extern false final finally fn for from func function global go goto if
  impl implements import in instanceof int interface is lambda let local loop match mod module move mut namespace new nil None nonlocal
  not null nullptr or override package pass private protected pub public raise ref require return select self Self static
  string struct super switch template then this throw throws trait True False true try type typedef typeof undefined union
  unless unsafe until use using val var virtual void where while with yield`.split(/\s+/));

const COMMENTS = {
  "//": "\\/\\/.*|\\/\\*.*?(?:\\*\\/|$)|^\\s*\\*(?:[ /].*)?$",
  "#": "(?<!\\S)#.*",
  "--": "--.*",
};

function pattern({ comment, quote }) {
  const comments = COMMENTS[comment] ?? "(?!)";
  // Elsewhere a single quote is a letter, or the name of a lifetime.
  const single = quote ? "'(?:\\\\.|[^'\\\\])*'" : "'(?:\\\\[^']*|[^'\\\\])'";
  return new RegExp([
    `(?<comment>${comments})`,
    `(?<string>"(?:\\\\.|[^"\\\\])*"|${single}|\`(?:\\\\.|[^\`\\\\])*\`)`,
    "(?<number>(?<![\\w$])\\d[\\w.]*)",
    "(?<word>[A-Za-z_$][\\w$]*)",
  ].join("|"), "g");
}

const PATTERNS = new Map(FAMILIES.flatMap((family) => family.endings.split(" ").map((ending) => [ending, pattern(family)])));

/** What finds the words of a file of this name; null if its language is not known. */
export function language(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return PATTERNS.get(name.slice(name.lastIndexOf(".") + 1)) ?? null;
}

/** The characters of a line that may have colours: what opens a text and never closes it is searched from each place anew. */
const LONGEST = 1_000;

/** The places of a line that have a colour: `[start, end, kind]`, in order. */
export function places(line, pattern) {
  const found = [];
  if (line.length > LONGEST) return found;
  for (const match of line.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups).find(([, text]) => text != null);
    if (kind === "word" && !KEYWORDS.has(match[0])) continue;
    found.push([match.index, match.index + match[0].length, kind === "word" ? "keyword" : kind]);
  }
  return found;
}
