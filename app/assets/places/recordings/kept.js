// Takes that have not reached the studio yet, in the browser's own store: a reload loses none.

const NAME = 'timbre.takes';

function store(mode, work) {
  return new Promise((done, fail) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME);
    opening.onerror = () => fail(opening.error);
    opening.onsuccess = () => {
      const change = opening.result.transaction(NAME, mode);
      const asked = work(change.objectStore(NAME));
      change.oncomplete = () => {
        opening.result.close();
        done(asked.result);
      };
      change.onerror = change.onabort = () => fail(change.error);
    };
  });
}

const key = ({ project, prompts, number }) => [project, prompts, number];

/** Keep a take {project, prompts, number, blob, kept}: one for each sentence. */
export const keep = (take) => store('readwrite', (all) => all.put(take, key(take)));
export const forget = (take) => store('readwrite', (all) => all.delete(key(take)));

/** Those of a project. */
export async function takesOf(project) {
  return (await store('readonly', (all) => all.getAll())).filter((each) => each.project === project);
}
