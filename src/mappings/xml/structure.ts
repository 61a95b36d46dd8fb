/**
 * The elements of an XML format, as far as mappings fill them: their order, and the elements that group related values. A
 * document built with it is valid against the schema of the format, whatever the mapping.
 */
import { badRequest } from '../../platform/errors.ts'

export interface XmlStructure {
  /** Namespace of all elements. */
  readonly base: string
  /** Address of its schema. */
  readonly schema: string
  /** Prefix of the names of elements, with its colon. */
  readonly prefix: string
  /** The root of a document of one object. */
  readonly root: XmlElement
  /** The root of a document of several objects. */
  readonly list: string
}

/** `first` and `last` are the limits of a range of dates, `address` is a web address; absent: any text. */
export type LeafKind = 'first' | 'last' | 'address'

export interface XmlElement {
  readonly name: string
  /** In the order of the schema. None: the element contains text. */
  readonly children: readonly XmlElement[]
  /**
   * Each value of a list has a separate element. Fields of the same group (`[group]`) share the element for values at the
   * same place of their lists.
   */
  readonly unit: boolean
  /**
   * The allowed groups, each with the fixed elements at the beginning of its children. Absent: a unit takes groups of any
   * name.
   */
  readonly groups?: Readonly<Record<string, Readonly<Record<string, readonly FixedElement[]>>>>
  /** The attribute for the group. */
  readonly groupAttribute?: string
  /** The place for texts in several languages: in the element itself, or in a unit for each language. */
  readonly language: 'here' | 'unit' | 'none'
  readonly attributes: Readonly<Record<string, string>>
  /** It has an attribute with the first language of the document. */
  readonly saysLanguage: boolean
  /** A required child: without it, the element is not written. */
  readonly needs: string | null
  readonly kind: LeafKind | null
  /** It may occur only once: of several texts, the first is written. */
  readonly single: boolean
}

/** An element with a fixed content. */
export interface FixedElement {
  readonly name: string
  readonly text?: string
  readonly attributes?: Readonly<Record<string, string>>
  readonly children?: readonly FixedElement[]
}

export interface XmlStep {
  readonly element: XmlElement
  readonly group: string
}

/** The path to an element with a text, without the root. */
export type XmlPath = readonly XmlStep[]

type Told = Partial<Omit<XmlElement, 'name' | 'children'>>

export const holder = (name: string, children: readonly XmlElement[], told: Told = {}): XmlElement => ({
  unit: false,
  language: 'none',
  attributes: {},
  saysLanguage: false,
  needs: null,
  kind: null,
  single: false,
  ...told,
  name,
  children,
})

export const unit = (name: string, children: readonly XmlElement[], told: Told = {}): XmlElement =>
  holder(name, children, { unit: true, ...told })

/** Whether texts in several languages can be written at the end of a path. */
export const takesLanguages = (path: XmlPath): boolean =>
  path.at(-1)?.element.language === 'here' || path.some(({ element }) => element.language === 'unit')

/** Text in languages. */
export const text = (name: string, told: Told = {}): XmlElement => holder(name, [], { language: 'here', ...told })

/** Text without a language. */
export const plain = (name: string, told: Told = {}): XmlElement => holder(name, [], told)

/** Elements one in another; the innermost has the given children. */
export const nested = (path: string, inner: readonly XmlElement[]): XmlElement => {
  const [name = '', ...rest] = path.split('/')
  return holder(name, rest.length === 0 ? inner : [nested(rest.join('/'), inner)])
}

const longestPath = 400

/**
 * Reads the path of an element from below the root: `eventWrap/eventSet[production]/event/eventDate/displayDate`.
 * @throws {AppError} `ServerGeneric` naming the place
 */
export function readXmlPath({ root }: XmlStructure, path: string, place: string): XmlPath {
  const fail = (problem: string): Error =>
    badRequest(`${place}: ${path.slice(0, 100)} ${problem}`, { path: place, value: path.slice(0, 500) })
  if (path.length > longestPath) throw fail(`is longer than ${longestPath} characters`)
  const steps: XmlStep[] = []
  let element = root
  for (const step of path.split('/')) {
    const [, name, group = ''] = /^([A-Za-z]{1,60})(?:\[([a-z][a-z0-9_-]{0,39})\])?$/.exec(step) ?? []
    const next = element.children.find((one) => one.name === name)
    if (!next) throw fail(`names no element in ${element.name}`)
    const isGroup = next.groups ? Object.hasOwn(next.groups, group) : group === '' || next.unit
    if (!isGroup) {
      const known = next.groups && Object.keys(next.groups).map((one) => `${next.name}[${one}]`)
      throw fail(known ? `must say which: ${known.join(', ')}` : `has a group at ${next.name}, which takes none`)
    }
    steps.push({ element: next, group })
    element = next
  }
  if (element.children.length > 0) throw fail('ends before an element with a text')
  return steps
}
