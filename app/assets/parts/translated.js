// What Timbre itself says (reasons, errors, what a job does) comes in English; here it is said in
// the language of the page.
//
// The catalogue has a template for each sentence: "{name} is not there." A text is cut into its
// sentences, and the longest run of them that a template fits is said by it; what fills its places
// is said in the same way. What no template fits stays as it came: better English than nothing.

const MOST_KEPT = 2000;
const DEEPEST = 5;
// Longer is nothing that Timbre says of itself; and to look for templates in it would take seconds.
const LONGEST = 1500;
const LONGEST_SENTENCE = 400;
const MOST_TOGETHER = 5;
const BETWEEN_SENTENCES = /(?<=[.!?]) +(?=[A-Z0-9`“"(])/;
// A filling ends where a sentence does: else "{name} is {value}." would swallow the next ones. What
// says a lot itself is not mistaken for another, and may be filled with anything.
const FILLING = '((?:(?![.!?] +[A-Z]).)*?[.!?]?)';
const ANYTHING = '(.*?)';
const HEAVY = 40;
// A template that begins with a place and says next to nothing itself would fit anything: it is for
// figures, and for what is known.
const LIGHT = 12;
const FIGURE = /^[^A-Za-z]*$/;
// What people wrote stands in these places.
const THEIRS = new Set(['name', 'text', 'title', 'phrase', 'path', 'word', 'file', 'folder', 'whose']);
// What joins parts of a sentence, the widest first, each with how the other language joins them.
const JOINED = [
  [/; /, '；'],
  [/: /, '：'],
  [/ · /, ' · '],
  [/, (?:and )?(?![^(]*\))/, '，'],
  [/ and (?![^(]*\))/, '和'],
];

let exact = new Map();
let byFirstWord = new Map();
let kept = new Map();

/** Take the templates of a language: {"English {name}": "中文 {name}"}; none for English. */
export function learn(templates) {
  exact = new Map();
  byFirstWord = new Map();
  kept = new Map();
  for (const [english, other] of Object.entries(templates)) {
    const parts = english.split(/\{(\w+)\}/);
    if (parts.length === 1) exact.set(english, other);
    else {
      const first = firstWord(english);
      const key = first.includes('{') ? '' : first;
      if (!byFirstWord.has(key)) byFirstWord.set(key, []);
      byFirstWord.get(key).push({ parts, other, weight: parts.filter((_, index) => index % 2 === 0).join('').length, pattern: null });
    }
  }
}

/** A text of Timbre's own in the language of the page; not for what a person wrote. */
export function translated(text) {
  if (typeof text !== 'string' || !(exact.size || byFirstWord.size)) return text;
  return put(text.trim(), 0) ?? text;
}

const firstWord = (text) => text.slice(0, (text.indexOf(' ') + 1 || text.length + 1) - 1);

/** A text in the other language, or null where nothing in it is known. */
function put(text, depth) {
  if (depth > DEEPEST || text.length > LONGEST || FIGURE.test(text)) return null;
  if (kept.size > MOST_KEPT) kept.clear();
  if (!kept.has(text)) kept.set(text, inSentences(text, depth));
  return kept.get(text);
}

function inSentences(text, depth) {
  const sentences = text.split(BETWEEN_SENTENCES);
  let said = '';
  let isKnown = false;
  for (let from = 0; from < sentences.length; ) {
    let to = Math.min(sentences.length, from + MOST_TOGETHER);
    let other = null;
    for (; to > from + 1 && other == null; to -= 1) other = fitted(sentences.slice(from, to).join(' '), depth);
    if (other == null) other = single(sentences[from], depth);
    else to += 1;
    said += other ?? `${sentences[from]} `;
    isKnown ||= other != null;
    from = to;
  }
  return isKnown ? said.trim() : null;
}

/** One sentence: as a whole or part by part, whichever leaves less of the English. */
function single(text, depth) {
  const ways = [fitted(text, depth), loose(text, depth)].filter((each) => each != null);
  return ways.sort((one, other) => lettersIn(one) - lettersIn(other))[0] ?? null;
}

const lettersIn = (text) => text.match(/[a-z]/g)?.length ?? 0;

/** What the heaviest template says that fits the whole of a text. */
function fitted(text, depth) {
  if (exact.has(text)) return exact.get(text);
  if (text.length > LONGEST_SENTENCE) return null;
  const [first, open] = [byFirstWord.get(firstWord(text)), byFirstWord.get('')];
  let best = null;
  for (const template of [...(first ?? []), ...(open ?? [])]) {
    if (best && template.weight <= best.template.weight) continue;
    const match = patternOf(template).exec(text);
    if (match && isMeant(template, match, depth)) best = { template, match };
  }
  return best && fill(best.template, best.match, depth);
}

/** Whether a light template is likely to be the one: beside what people wrote, all of it is known. */
function isMeant({ parts, weight }, match, depth) {
  if (parts[0] || weight >= LIGHT) return true;
  const ours = match.slice(1).filter((_, at) => !THEIRS.has(parts[2 * at + 1]));
  return ours.length > 0 && ours.every((filling) => FIGURE.test(filling) || put(filling.trim(), depth + 1) != null);
}

function patternOf(template) {
  const escaped = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const filling = template.weight < HEAVY ? FILLING : ANYTHING;
  template.pattern ??= new RegExp(`^${template.parts.map((part, index) => (index % 2 ? filling : escaped(part))).join('')}$`, 's');
  return template.pattern;
}

function fill({ parts, other }, match, depth) {
  const filled = {};
  parts.forEach((name, index) => {
    if (index % 2) filled[name] = (THEIRS.has(name) ? null : put(match[(index + 1) / 2].trim(), depth + 1)) ?? match[(index + 1) / 2];
  });
  return other.replace(/\{(\w+)\}/g, (whole, name) => filled[name] ?? whole);
}

/** A sentence that was made of parts: with a capital and a full stop, or joined by commas and the like. */
function loose(text, depth) {
  if (text.length > LONGEST_SENTENCE) return null;
  const end = text.endsWith('.') ? '。' : '';
  const bare = end ? text.slice(0, -1) : text;
  const whole = fitted(bare, depth) ?? fitted(bare.charAt(0).toLowerCase() + bare.slice(1), depth);
  if (whole != null) return whole + end;
  for (const [between, join] of JOINED) {
    const parts = bare.split(between);
    const others = parts.length > 1 ? parts.map((part) => put(part.trim(), depth + 1)) : [];
    const isAll = others.length > 0 && others.every((other, index) => other != null || FIGURE.test(parts[index]));
    if (isAll && others.some((other) => other != null)) return others.map((other, index) => other ?? parts[index]).join(join) + end;
  }
  return null;
}
