/** A document of one object in an XML format, built from the values of fields and their paths in the document. */

import {
  type FixedElement,
  inLanguage,
  joined,
  readXmlPath,
  type Text,
  takesLanguages,
  type XmlElement,
  type XmlField,
  type XmlPath,
  type XmlStructure,
} from '../../mappings/service.ts'
import { badRequest } from '../../platform/errors.ts'
import { parseDate } from '../../platform/values/dates.ts'
import { type Attributes, isLanguageTag, element as markup, textElement } from '../xml/markup.ts'

interface Node {
  readonly element: XmlElement
  readonly group: string
  /** The language of a unit for texts in one language. */
  readonly language: string | null
  readonly texts: { readonly text: string; readonly language: string | null }[]
  /** Children by name, in the order in which they were added. */
  readonly children: Map<string, Map<string, Node>>
}

/** Most texts of one record, which is built without a pause. */
const mostTexts = 20_000

export type XmlDocument = ReturnType<typeof createDocument>

/** @param languages best first */
export function createDocument(structure: XmlStructure, languages: readonly string[]) {
  const root = nodeOf(structure.root, '', null)
  /** Number of units with a value, by path. */
  const filled = new Map<string, number>()
  let size = 0

  function put(path: XmlPath, place: number, language: string | null, text: string): void {
    const unitAt = path.findLastIndex(({ element }) => element.unit)
    let node = root
    for (const [depth, { element, group }] of path.entries()) {
      const apart = depth === unitAt && element.language === 'unit' ? language : null
      const key = `${group} ${depth === unitAt ? place : 0} ${apart ?? ''}`
      const siblings = node.children.get(element.name) ?? new Map<string, Node>()
      node.children.set(element.name, siblings)
      const child = siblings.get(key) ?? nodeOf(element, group, apart)
      siblings.set(key, child)
      node = child
    }
    const { language: said, single } = node.element
    if (single && node.texts.length > 0) return
    node.texts.push({ text, language: said === 'here' ? language : null })
  }

  return {
    /**
     * Adds the values of a field; at a path that already has values, behind these.
     * @throws {AppError} `ServerGeneric` for a record that would be too long
     */
    add({ path, texts, list, l10n }: XmlField): void {
      size += texts.length
      if (size > mostTexts) throw badRequest(`a record has at most ${mostTexts} texts`, { value: size })
      const name = nameOf(path)
      const first = filled.get(name) ?? 0
      const values = list || texts.length === 0 ? texts : [joined(texts, languages)]
      const kind = path.at(-1)?.element.kind ?? null
      const inLanguages = l10n && takesLanguages(path)
      for (const [index, value] of values.entries()) {
        for (const [language, text] of textsOf(value, inLanguages, languages)) {
          const shown = kind === null ? text : kind === 'address' ? addressOf(text) : limitOf(text, kind)
          if (shown === '') continue
          put(path, first + index, language, shown)
          filled.set(name, first + index + 1)
        }
      }
    },

    /** The same, with the path as text. */
    say(path: string, text: Text | readonly Text[], l10n = true): void {
      const texts = Array.isArray(text) ? (text as readonly Text[]) : [text as Text]
      this.add({ path: readXmlPath(structure, path, 'path'), texts, list: true, l10n })
    },

    has: (path: string): boolean => filled.has(path),

    /** @param attributes attributes of the root, in addition to those of the format */
    toXml: (attributes: Attributes): string => nodeXml(root, { structure, languages }, attributes),
  }
}

const nodeOf = (element: XmlElement, group: string, language: string | null): Node => ({
  element,
  group,
  language,
  texts: [],
  children: new Map(),
})

const nameOf = (path: XmlPath): string =>
  path.map(({ element, group }) => (group === '' ? element.name : `${element.name}[${group}]`)).join('/')

/** Texts with their languages, if these are wanted: the best language first. */
function textsOf(value: Text, l10n: boolean, languages: readonly string[]): (readonly [string | null, string])[] {
  if (typeof value === 'string') return [[null, value]]
  if (!l10n) return [[null, inLanguage(value, languages)]]
  const rank = (language: string): number => {
    const at = languages.indexOf(language)
    return at < 0 ? languages.length : at
  }
  return Object.entries(value).toSorted(([a], [b]) => rank(a) - rank(b))
}

/** One end of a range of dates as mappings write it (`1851 - 1852`, `1851 -`, `1851`); empty where it is no date. */
function limitOf(text: string, kind: 'first' | 'last'): string {
  const parts = text.split(/(?:^|\s)-(?:\s|$)/)
  const [first = '', last = first] = parts.map((part) => part.trim())
  return parseDate(kind === 'first' ? first : last)?.text ?? ''
}

/** A web address in a form that schemas accept; empty where the text is none. */
function addressOf(text: string): string {
  const address = URL.canParse(text) ? new URL(text) : null
  if (!address || !/^https?:$/.test(address.protocol) || address.username !== '') return ''
  return (
    address.origin + address.href.slice(address.origin.length).replace(/[^\w.~!$&'()*+,;=:@/?%#-]/g, encodeURIComponent)
  )
}

interface Writing {
  readonly structure: XmlStructure
  readonly languages: readonly string[]
}

/** Empty where there is no value, or a required child is missing. */
function nodeXml(node: Node, writing: Writing, attributes: Attributes = {}, before = ''): string {
  const { element, texts, children } = node
  const name = `${writing.structure.prefix}${element.name}`
  if (element.children.length === 0) {
    return texts
      .map(({ text, language }) => textElement(name, text, { ...element.attributes, ...langOf(language) }))
      .join('')
  }
  const inside = element.children.map((child) => {
    const fixed = element.groups?.[node.group]?.[child.name] ?? []
    const first = fixed.map((one) => fixedXml(one, writing.structure.prefix)).join('')
    const nodes = [...(children.get(child.name)?.values() ?? [])]
    return [child.name, nodes.map((one) => nodeXml(one, writing, {}, first)).join('')] as const
  })
  const { needs } = element
  if (needs !== null && !inside.some(([child, xml]) => child === needs && xml !== '')) return ''
  const content = inside.map(([, xml]) => xml).join('')
  if (content === '') return ''
  return markup(name, `${before}${content}`, {
    ...attributes,
    ...element.attributes,
    ...(element.groupAttribute ? { [element.groupAttribute]: node.group } : {}),
    ...langOf(element.saysLanguage ? (writing.languages[0] ?? 'und') : node.language),
  })
}

function fixedXml({ name, text = '', attributes = {}, children = [] }: FixedElement, prefix: string): string {
  if (children.length === 0) return textElement(`${prefix}${name}`, text, attributes)
  return markup(`${prefix}${name}`, children.map((child) => fixedXml(child, prefix)).join(''), attributes)
}

const langOf = (language: string | null): Attributes =>
  language !== null && isLanguageTag(language) ? { 'xml:lang': language } : {}
