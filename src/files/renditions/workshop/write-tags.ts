import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { change, type Limits } from './exiftool.ts'
import { CannotMake } from './failure.ts'
import type { MetadataToWrite, WriteTask } from './tasks.ts'

const problem = 'the metadata cannot be written into it'

/** Valid names of tags: no other text gets into ExifTool's arguments and its configuration. */
const tagName = /^[A-Za-z][\w-]{0,60}:[A-Za-z][\w-]{0,120}$/
const ownName = /^XMP-([A-Za-z][A-Za-z0-9]{0,40}):([A-Za-z][A-Za-z0-9]{0,80})$/

/** Tables of ExifTool to which tags can be added, by group; other groups are custom. */
const tables = new Set('dc xmp xmpRights xmpMM photoshop pdf tiff exif iptcCore iptcExt'.split(' '))

/**
 * Writes tags: old values are removed, new values keep their order. The values are passed in a file of arguments, which
 * no other user of the machine can read, and escaped as HTML, so that none is taken for another argument.
 * @throws {CannotMake}
 */
export async function writeTags({ source, folder, metadata }: WriteTask, limits: Limits): Promise<null> {
  const { emptied, values } = metadata
  if ([...emptied, ...values.map(({ tag }) => tag)].some((tag) => !tagName.test(tag))) {
    throw new CannotMake('unreadable', problem)
  }
  const lines = [
    ...inUnicode(emptied.filter((tag) => tag.startsWith('IPTC:'))),
    // Old values are removed before new ones are written.
    ...emptied.map((tag) => `-${tag}=`),
    ...values
      .map(({ tag, value }) => ({ tag, text: cleaned(value) }))
      .flatMap(({ tag, text }) => (text === '' ? [] : `-${tag}=${escaped(text)}`)),
  ]
  if (lines.length === 0) return null
  const args = join(folder, 'arguments.txt')
  await writeFile(args, `${lines.join('\n')}\n`)
  const config = metadata.own.length === 0 ? '' : join(folder, 'exiftool.config')
  if (config !== '') await writeFile(config, configOf(metadata.own))
  await change(['-E', '-m', '-overwrite_original', '-@', args, source.path], limits, problem, config)
  return null
}

/** Existing IPTC values are written again, except for those to be removed, since they may be in another encoding. */
function inUnicode(emptied: readonly string[]): readonly string[] {
  if (emptied.length === 0) return []
  return ['-tagsfromfile', '@', '-iptc:all', ...emptied.map((tag) => `--${tag}`), '-IPTC:CodedCharacterSet=UTF8']
}

/** Without characters that XML cannot hold. */
function cleaned(text: string): string {
  return text.toWellFormed().replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
}

function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"'#$@\r\n\t\u0085\u00a0\u2028\u2029]/g, reference)
    .replace(/^ +/, (spaces) => '&#x20;'.repeat(spaces.length))
    .replace(/ $/, '&#x20;')
}

const reference = (letter: string): string => `&#x${letter.charCodeAt(0).toString(16)};`

/** A configuration of custom tags for ExifTool: it contains only names, which are checked. */
function configOf(own: MetadataToWrite['own']): string {
  const named = own.map(({ path, list, l10n }) => {
    const [, group, name] = ownName.exec(path) ?? []
    if (group === undefined || name === undefined) throw new CannotMake('unreadable', problem)
    const settings = [...(list ? [`List => 'Bag'`] : []), ...(l10n ? [`Writable => 'lang-alt'`] : [])]
    return { group, line: `    ${name} => { ${settings.join(', ')} },` }
  })
  const groups = Map.groupBy(named, ({ group }) => group)
  const mine = [...groups.keys()].filter((group) => !tables.has(group))
  const main = mine.map(
    (group) => `    ${group} => { SubDirectory => { TagTable => 'Image::ExifTool::UserDefined::${group}' } },`,
  )
  const added = [...groups].filter(([group]) => tables.has(group))
  return [
    '%Image::ExifTool::UserDefined = (',
    ...(main.length > 0 ? ["  'Image::ExifTool::XMP::Main' => {", ...main, '  },'] : []),
    ...added.flatMap(([group, tags]) => [
      `  'Image::ExifTool::XMP::${group}' => {`,
      ...tags.map(({ line }) => line),
      '  },',
    ]),
    ');',
    ...mine.flatMap((group) => [
      `%Image::ExifTool::UserDefined::${group} = (`,
      `    GROUPS => { 0 => 'XMP', 1 => 'XMP-${group}', 2 => 'Other' },`,
      `    NAMESPACE => { '${group}' => 'http://ns.exiftool.ca/XMP/XMP-${group}/1.0/' },`,
      "    WRITABLE => 'string',",
      ...(groups.get(group) ?? []).map(({ line }) => line),
      ');',
    ]),
    '1;',
    '',
  ].join('\n')
}
