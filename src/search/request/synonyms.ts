/** Synonyms of words in searched texts. */
import type { SynonymRule } from '../../config/service.ts'
import { words } from '../document/analyze.ts'
import type { Alternatives } from '../plan/plan.ts'

/** The rules of a data language. */
export interface LanguageSynonyms {
  readonly value: string
  readonly analyzer: {
    readonly synonyms: readonly SynonymRule[]
    /** The rules of a file, which count like the others. */
    readonly synonyms_file: readonly SynonymRule[]
  }
}

/** A term of a rule, and the terms that are also searched for. */
interface Entry {
  readonly words: readonly string[]
  readonly or: readonly (readonly string[])[]
}

/** By the first word of a term, longer terms first. */
type Lookup = ReadonlyMap<string, readonly Entry[]>

/** The highest number of words in all synonyms of one text; further ones are not used. */
const mostWords = 500

/** Look-ups by configuration, which never changes. */
const lookups = new WeakMap<LanguageSynonyms, Lookup>()

function lookupOf(language: LanguageSynonyms): Lookup {
  const known = lookups.get(language)
  if (known) return known
  const byFirst = new Map<string, Entry[]>()
  for (const { from, to } of [...language.analyzer.synonyms, ...language.analyzer.synonyms_file]) {
    const or = to.map(words).filter((term) => term.length > 0)
    for (const term of from.map(words)) {
      const [first] = term
      if (first === undefined) continue
      const entries = byFirst.get(first) ?? []
      byFirst.set(first, entries)
      entries.push({ words: term, or: or.filter((other) => other.join(' ') !== term.join(' ')) })
    }
  }
  for (const entries of byFirst.values()) entries.sort((a, b) => b.words.length - a.words.length)
  lookups.set(language, byFirst)
  return byFirst
}

/**
 * Splits a text into parts, each with its synonyms. `null`: no part has any. `only`: languages whose rules count, `null`: all.
 * Where terms overlap, the first one counts. Where terms begin at the same word, the longest one counts.
 */
export function alternativesOf(
  text: string,
  languages: readonly LanguageSynonyms[],
  only: readonly string[] | null,
): readonly Alternatives[] | null {
  const asked = languages.filter(
    ({ value, analyzer: { synonyms, synonyms_file } }) =>
      synonyms.length + synonyms_file.length > 0 && (only === null || only.includes(value)),
  )
  if (asked.length === 0) return null
  const found = words(text)
  const parts: Alternatives[] = []
  let budget = mostWords
  for (let at = 0; at < found.length; ) {
    const entries = asked.flatMap((language) => lookupOf(language).get(found[at] as string) ?? [])
    const fitting = entries.filter((entry) => entry.words.every((word, n) => found[at + n] === word))
    const length = Math.max(1, ...fitting.map((entry) => entry.words.length))
    const own = found.slice(at, at + length)
    const or = new Map<string, readonly string[]>()
    for (const entry of fitting.filter((each) => each.words.length === length)) {
      for (const other of entry.or) {
        if (or.has(other.join(' ')) || other.length > budget) continue
        or.set(other.join(' '), other)
        budget -= other.length
      }
    }
    parts.push({ words: own, or: [...or.values()] })
    at += length
  }
  return parts.some(({ or }) => or.length > 0) ? parts : null
}
