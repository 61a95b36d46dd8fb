/** Rewrites the list of tags of metadata (src/mappings/tags/tags.tsv.gz) from the ExifTool that the package lock names. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import sax from 'sax'

const own = createRequire(import.meta.url)
const program = createRequire(own.resolve('exiftool-vendored')).resolve('exiftool-vendored.pl')
const script: unknown = own(program)
const { stdout } = await promisify(execFile)('perl', [`${script}`, '-config', '', '-f', '-listx'], {
  maxBuffer: 100_000_000,
})

/** The tags that may be written into copies: none that decides how the content is to be read, and none of the file system. */
const families = new Set(['XMP', 'IPTC', 'EXIF'])
const barred = ['Unsafe', 'Protected', 'Permanent', 'Binary', 'Unknown', 'Mandatory']
const types = new Set(['struct', 'undef', 'binary', 'null', '?'])

interface Tag {
  readonly name: string
  readonly type: string
  readonly writable: boolean
  readonly list: string
  readonly texts: Record<string, string>
}

const groups = new Map<string, { readonly family: string; readonly tags: Map<string, Tag> }>()
let version = ''
let table: Record<string, string> = {}
let tag: Tag | null = null
let language = ''

const xml = sax.parser(true, {})
xml.oncomment = (text) => {
  version ||= /ExifTool ([\d.]+)/.exec(text)?.[1] ?? ''
}
xml.onopentag = ({ name, attributes }) => {
  const given = attributes as Record<string, string>
  if (name === 'table') table = given
  if (name === 'tag') tag = read(given)
  language = name === 'desc' && tag ? (given.lang ?? '') : ''
}
xml.ontext = (text) => {
  if (tag && (language === 'en' || language === 'de')) tag.texts[language] = text.replaceAll(/\s+/g, ' ').trim()
}
xml.onclosetag = (name) => {
  if (name === 'tag') tag = null
  language = ''
}
xml.write(stdout).close()

function read(given: Record<string, string>): Tag {
  const group = given.g1 ?? table.g1 ?? ''
  const family = given.g0 ?? table.g0 ?? ''
  const flags = (given.flags ?? '').split(',')
  const type = given.type ?? '?'
  const may = given.writable === 'true' && families.has(family) && !types.has(type)
  const found: Tag = {
    name: given.name ?? '',
    type,
    writable: may && !flags.some((flag) => barred.includes(flag)),
    list: flags.includes('List') ? (['Bag', 'Seq'].find((kind) => flags.includes(kind)) ?? 'List') : '',
    texts: {},
  }
  const known = groups.get(group) ?? { family, tags: new Map<string, Tag>() }
  groups.set(group, known)
  const before = known.tags.get(found.name)
  if (!before || (found.writable && !before.writable)) known.tags.set(found.name, found)
  return found
}

const byName = <T>([one]: [string, T], [other]: [string, T]): number => (one < other ? -1 : 1)
const lines = [`ExifTool ${version}`]
for (const [group, { family, tags }] of [...groups].sort(byName)) {
  lines.push(`@${group}\t${family}`)
  for (const [name, { type, writable, list, texts }] of [...tags].sort(byName)) {
    lines.push([name, writable ? 'w' : '', type, list, texts.en ?? '', texts.de ?? ''].join('\t').trimEnd())
  }
}
await writeFile(
  join(import.meta.dirname, '../src/mappings/tags/tags.tsv.gz'),
  gzipSync(`${lines.join('\n')}\n`, { level: 9 }),
)
