import type { Tag } from '../../files/service.ts'

/** The content of a tag of a file. */
export interface Reading {
  /** Values without a language: one text, or the entries of a list. */
  readonly plain: readonly string[]
  /** Values by language, spelled as in the file: `de-DE`. */
  readonly languages: ReadonlyMap<string, readonly string[]>
  /** The value in the file, before it was formatted for people. */
  readonly raw: unknown
}

export type TagReader = (search: string) => Reading | null

/** Finds tags by name, ignoring case: XMP has a tag for each language (`XMP-dc:Title-de-DE`). */
export function tagReader(tags: readonly Tag[]): TagReader {
  const plain = new Map<string, Tag>()
  const languages = new Map<string, Map<string, readonly string[]>>()
  for (const tag of tags) {
    const key = `${tag.group}:${tag.name}`.toLowerCase()
    if (!plain.has(key)) plain.set(key, tag)
    const [, name, language] = /^([^-]+)-([a-z]{2,8}(?:-[a-z0-9]{1,8}){0,3})$/i.exec(tag.name) ?? []
    if (!tag.group.startsWith('XMP-') || name === undefined || language === undefined) continue
    const base = `${tag.group}:${name}`.toLowerCase()
    const known = languages.get(base) ?? new Map<string, readonly string[]>()
    languages.set(base, known)
    if (!known.has(language)) known.set(language, textsOf(tag))
  }
  return (search) => {
    const key = search.toLowerCase()
    const own = plain.get(key)
    const translated = languages.get(key)
    const texts = own ? textsOf(own) : []
    if (texts.length === 0 && !translated) return null
    return { plain: texts, languages: translated ?? new Map(), raw: own?.value }
  }
}

function textsOf({ print, values }: Tag): readonly string[] {
  return (values ?? [print]).filter((text) => text !== '')
}
