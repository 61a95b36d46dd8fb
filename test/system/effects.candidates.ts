import { existsSync, readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** Parameters of all endpoints, which are tested at some of them. */
const everywhere = new Set(['pretty', 'cache_seconds'])

/** Test files with what they say, the scenes and people included that several of them share. */
export async function readTests() {
  const files = await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))
  const texts = new Map<string, string>()
  const textOf = (file: string): string => {
    const known = texts.get(file)
    if (known !== undefined) return known
    const own = existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
    texts.set(file, own)
    const shared = [...own.matchAll(/from '(\.[^']*)'/g)].map(([, from = '']) => join(dirname(file), from))
    const whole = [own, ...shared.filter((each) => each.startsWith('test/')).map(textOf)].join('\n')
    texts.set(file, whole)
    return whole
  }
  const read = files.map((file) => {
    const text = textOf(file)
    const words = new Map<string, number>()
    for (const [word] of text.matchAll(/[\w$]+/g)) words.set(word, (words.get(word) ?? 0) + 1)
    return { file, text, words }
  })
  return {
    /** Files that may show the effect of a parameter or field (`GET /db/list ?limit`, `PoolInput.pool.name`), the likeliest first. */
    candidates(key: string, name: string): readonly string[] {
      const [route = '', isParameter] = key.split(' ?')
      const endpoint = isParameter === undefined || everywhere.has(name) ? '' : lastWord(route)
      // Names with other characters are looked for by what they begin with.
      const [word = name] = name.match(/[\w$]+/) ?? []
      return read
        .map(({ file, text, words }) => ({ file, mentions: text.includes(endpoint) ? (words.get(word) ?? 0) : 0 }))
        .filter(({ mentions }) => mentions > 0)
        .toSorted((a, b) => b.mentions - a.mentions)
        .map(({ file }) => file)
    },
  }
}

/** The last part of an address that is no parameter: tests write it as it is. */
function lastWord(route: string): string {
  const words = route.split(/[ /]/).filter((part) => part !== '' && !part.startsWith('{'))
  return words.at(-1) ?? ''
}
