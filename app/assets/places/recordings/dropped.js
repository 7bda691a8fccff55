// What a person dropped or chose, as files with names: those of a folder with the folders below it.

const NO_SOUND = /\.(bak|db|docx?|gif|html?|ini|jpe?g|log|m3u8?|md|nfo|odt|parquet|pdf|pls|png|pth?|py|rtf|safetensors|webp|xml|ya?ml|zip)$/i;
const TEXT = /\.(txt|srt|vtt|csv|tsv|jsonl?|lab|list|lrc|textgrid)$/i;

/** Whether a file holds what is said and not how: a transcript. */
const isText = (name) => TEXT.test(name);

/** Sort files that are {file, name} into recordings, texts, and the names of what is neither. */
export function sorted(found) {
  const seen = found.filter(({ name }) => !name.split('/').some((part) => part.startsWith('.')));
  // As people count: take 2 comes before take 10.
  seen.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  return {
    recordings: seen.filter(({ name }) => !isText(name) && !NO_SOUND.test(name)),
    texts: seen.filter(({ name }) => isText(name)),
    others: seen.filter(({ name }) => NO_SOUND.test(name)).map(({ name }) => name),
  };
}

/** What was chosen in a dialog of the browser. */
export const chosen = (input) =>
  [...input.files].map((file) => ({ file, name: below(file.webkitRelativePath) || file.name }));

const below = (path) => path.split('/').slice(1).join('/');

/** What was dropped; a folder gives everything in it. */
export async function dropped(transfer) {
  // Asked for before anything is waited for: the browser forgets them after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = await Promise.all(entries.map((entry) => inside(entry, '')));
  return found.flat();
}

async function inside(entry, before) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    return [{ file, name: before + file.name }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // A hundred at a time, until there are none.
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) break;
    found.push(...some);
  }
  // The folder that was dropped is not part of a name; those below it are.
  const path = entry.fullPath.split('/').slice(2).join('/');
  return (await Promise.all(found.map((each) => inside(each, path && `${path}/`)))).flat();
}
