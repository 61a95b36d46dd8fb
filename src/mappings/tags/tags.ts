import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { badRequest } from '../../platform/errors.ts'
import type { ExportTag } from '../model.ts'

/** A tag that may be written. */
export interface WritableTag {
  /** Its name in ExifTool's spelling. */
  readonly path: string
  readonly list: boolean
  readonly l10n: boolean
  /** It has dates in the form of EXIF; `wholeDay`: years and months alone are not allowed. */
  readonly date: boolean
  readonly wholeDay: boolean
}

/** The tags of ExifTool: those that may be written, and the list of all for answers. */
export interface Tags {
  /** Finds a tag, ignoring case. */
  writable(path: string): WritableTag | undefined
  /** Whether the group has writable tags. */
  hasGroup(group: string): boolean
  /** The catalogue as JSON, in pieces. */
  json(pretty: boolean): AsyncGenerator<string>
}

const file = join(import.meta.dirname, 'tags.tsv.gz')

/** Lines of the catalogue that are written at once. */
const atATime = 500

let catalogue: Promise<Tags> | undefined

/**
 * The list of tags is a file that `scripts/tags.ts` makes from ExifTool's own list. It is part of the release, so a
 * process reads it once.
 */
export function openTagCatalogue(): Promise<Tags> {
  catalogue ??= readTagCatalogue()
  return catalogue
}

async function readTagCatalogue(): Promise<Tags> {
  const text = (await promisify(gunzip)(await readFile(file))).toString('utf8')
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const writable = new Map<string, WritableTag>()
  const groups = new Set<string>()
  let group = ''
  for (const line of lines) {
    const [name = '', may, type, list] = line.split('\t')
    if (name.startsWith('@')) group = name.slice(1)
    else if (may === 'w') {
      const path = `${group}:${name}`
      const isXmp = group.startsWith('XMP-')
      writable.set(path.toLowerCase(), {
        path,
        list: list !== '' && list !== undefined,
        l10n: type === 'lang-alt',
        date: isXmp ? type === 'date' : name.includes('Date'),
        wholeDay: !isXmp,
      })
      groups.add(group.toLowerCase())
    }
  }
  return {
    writable: (path) => writable.get(path.toLowerCase()),
    hasGroup: (name) => groups.has(name.toLowerCase()),
    json: (pretty) => catalogueJson(lines, head.replace('ExifTool ', ''), pretty),
  }
}

/** Other requests are served between the pieces. */
async function* catalogueJson(lines: readonly string[], version: string, pretty: boolean): AsyncGenerator<string> {
  const [space, line, indent] = pretty ? [' ', '\n', '  '] : ['', '', '']
  const text = (value: unknown, depth: number): string =>
    pretty ? JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent.repeat(depth)}`) : JSON.stringify(value)
  const entry = `${line}${indent.repeat(2)}`
  const xmlns: Record<string, string> = {}
  let separator = `{${line}${indent}"tags":${space}[${entry}`
  let group = ''
  for (let start = 0; start < lines.length; start += atATime) {
    const tags: string[] = []
    for (const one of lines.slice(start, start + atATime)) {
      if (one.startsWith('@')) {
        const [name = '', family = ''] = one.slice(1).split('\t')
        group = name
        xmlns[group] = `http://ns.exiftool.ca/${family}/${group}/1.0/`
      } else tags.push(text(tagOf(one, group), 2))
    }
    if (tags.length > 0) yield separator + tags.join(`,${entry}`)
    if (tags.length > 0) separator = `,${entry}`
    await setImmediate()
  }
  const tail = [`"xmlns":${space}${text(xmlns, 1)}`, `"exiftool_version":${space}${text(version, 1)}`]
  yield `${line}${indent}],${line}${indent}${tail.join(`,${line}${indent}`)}${line}}`
}

function tagOf(line: string, group: string): object {
  const [name = '', may, type = '?', list = '', en, de] = line.split('\t')
  return {
    path: `${group}:${name}`,
    group,
    description: { ...(en ? { 'en-US': en } : {}), ...(de ? { 'de-DE': de } : {}) },
    writable: may === 'w',
    type,
    ...(type === 'lang-alt' ? { l10n: true } : {}),
    ...(list === '' ? {} : { list: true }),
    ...(list === '' || list === 'List' ? {} : { list_type: list }),
  }
}

const tagPattern = /^([A-Za-z][\w-]{0,60}):([A-Za-z][\w-]{0,120})$/

/**
 * The tag that an import reads: `XMP-dc:Title`, or a path that ends with one, as in profiles for XML
 * (`/rdf:RDF/rdf:Description/XMP-dc:Title`).
 * @throws {AppError} `ServerGeneric`
 */
export function readSearch(search: string, path: string): string {
  const tag = search.slice(search.lastIndexOf('/') + 1)
  const steps = search.slice(0, search.length - tag.length)
  if (tagPattern.test(tag) && /^[\w:./-]*$/.test(steps)) return tag
  throw badRequest(`${path}: ${search.slice(0, 100)} is no tag such as XMP-dc:Title`, {
    path,
    value: search.slice(0, 200),
    expected: 'a tag such as XMP-dc:Title',
  })
}

/**
 * A tag that an export writes, in a shape that it can have: a known tag has its known shape; in XMP, custom tags are
 * allowed (`XMP-museum:Inventory`).
 * @throws {AppError} `ServerGeneric`
 */
export function readExportTag(
  tags: Tags,
  { path: given, list = false, l10n = false }: ExportTag,
  place: string,
): ExportTag {
  const known = tags.writable(given)
  const fail = (problem: string): Error =>
    badRequest(`${place}: ${given.slice(0, 100)} ${problem}`, { path: place, value: given.slice(0, 200) })
  const shape = { ...(list ? { list } : {}), ...(l10n ? { l10n } : {}) }
  if (known) {
    if (list && !known.list) throw fail('is no list')
    if (l10n && !known.l10n) throw fail('has no languages')
    return { path: known.path, ...shape }
  }
  const group = given.split(':', 1)[0] ?? ''
  if (isOwnTag(given) && (!tags.hasGroup(group) || extensible.has(group))) return { path: ownTag(given), ...shape }
  throw fail('is no tag that can be written; own ones are called XMP-group:Name')
}

/** Whether a tag is unknown to ExifTool and can be defined. */
export function isOwnTag(path: string): boolean {
  return /^XMP-[A-Za-z][A-Za-z0-9]{0,40}:[A-Za-z][A-Za-z0-9]{0,80}$/.test(path)
}

/** ExifTool's own groups to which tags can be added. */
const extensible = new Set(
  ['dc', 'xmp', 'xmpRights', 'xmpMM', 'photoshop', 'pdf', 'tiff', 'exif', 'iptcCore', 'iptcExt'].map(
    (name) => `XMP-${name}`,
  ),
)

/** Names of tags in ExifTool begin with a capital letter. */
function ownTag(path: string): string {
  const [group = '', name = ''] = path.split(':')
  return `${group}:${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
