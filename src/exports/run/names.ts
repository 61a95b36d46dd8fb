import { keyOfPath } from '../files.ts'

/**
 * A file that needs a name in a folder: the name without its extension, and a mark that distinguishes it from others of
 * the same name.
 */
export interface Named {
  readonly folder: string
  readonly name: string
  readonly apart: string
}

/**
 * Makes names unique, also for file systems that ignore case. The first file keeps its name; others get their mark, then
 * a number.
 * @param taken those of the keys that are in use already
 */
export async function uniqueNames<T extends Named>(
  wanted: readonly T[],
  taken: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<(T & { readonly name: string })[]> {
  const [plain, apart] = [
    wanted.map(pathOf),
    wanted.map((one) => pathOf({ ...one, name: withMark(one.name, one.apart) })),
  ]
  const known = new Set(await taken([...new Set([...plain, ...apart].map(keyOfPath))]))
  const named: (T & { readonly name: string })[] = []
  for (const [index, one] of wanted.entries()) {
    const name = await freeName(one, [plain[index] as string, apart[index] as string], known, taken)
    named.push({ ...one, name })
  }
  return named
}

async function freeName(
  { folder, name, apart }: Named,
  [plain, marked]: readonly [string, string],
  known: Set<string>,
  taken: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<string> {
  if (take(plain, known)) return name
  if (take(marked, known)) return withMark(name, apart)
  // An object may have a file several times in the same version.
  for (let from = 2; ; from += numbered) {
    const names = Array.from({ length: numbered }, (_, n) => withMark(name, `${apart}-${from + n}`))
    const keys = names.map((one) => pathOf({ folder, name: one }))
    for (const key of await taken(keys.map(keyOfPath))) known.add(key)
    const free = keys.findIndex((key) => take(key, known))
    if (free >= 0) return names[free] as string
  }
}

/** Numbers that are tried together. */
const numbered = 100

function take(path: string, known: Set<string>): boolean {
  const key = keyOfPath(path)
  if (known.has(key)) return false
  known.add(key)
  return true
}

const pathOf = ({ folder, name }: Pick<Named, 'folder' | 'name'>): string =>
  folder === '' ? name : `${folder}/${name}`

/** The mark before the extension. */
function withMark(name: string, mark: string): string {
  const dot = name.lastIndexOf('.')
  return dot > 0 ? `${name.slice(0, dot)}-${mark}${name.slice(dot)}` : `${name}-${mark}`
}
