import { lookup } from 'mime-types'
import { Spool } from '../../../platform/memory/spool.ts'
import { hashedEntries, spoolEntry } from './entries.ts'
import type { Package, PackageAbout } from './model.ts'

const context = ['https://w3id.org/ro/crate/1.1/context', { sha256: 'https://schema.org/sha256' }]

/** A crate: one document describes all its files. @see https://www.researchobject.org/ro-crate/specification/1.1/ */
export const roCrate: Package = async function* (about, files) {
  const { created } = about
  await using parts = new Spool()
  await using entities = new Spool()
  let separator = ''
  for await (const { entry, result } of hashedEntries(files, 'sha256')) {
    yield entry
    const { digest, size } = result()
    const id = entry.path.split('/').map(encodeURIComponent).join('/')
    const type = lookup(entry.path)
    const entity = {
      '@id': id,
      '@type': 'File',
      name: entry.path.slice(entry.path.lastIndexOf('/') + 1),
      contentSize: `${size}`,
      ...(type === false ? {} : { encodingFormat: type }),
      sha256: digest,
    }
    await parts.write(Buffer.from(`${separator}${JSON.stringify({ '@id': id })}`))
    await entities.write(Buffer.from(`,\n${JSON.stringify(entity)}`))
    separator = ',\n'
  }
  await using document = new Spool()
  await document.write(Buffer.from(beginning(about)))
  for await (const piece of parts.read()) await document.write(piece)
  await document.write(Buffer.from(']}'))
  for await (const piece of entities.read()) await document.write(piece)
  await document.write(Buffer.from(']}\n'))
  yield spoolEntry('ro-crate-metadata.json', created, document)
}

/** The part of the document before the list of files. */
function beginning({ id, name, created, agent, user }: PackageAbout): string {
  const descriptor = {
    '@id': 'ro-crate-metadata.json',
    '@type': 'CreativeWork',
    conformsTo: { '@id': 'https://w3id.org/ro/crate/1.1' },
    about: { '@id': './' },
  }
  const root = {
    '@id': './',
    '@type': 'Dataset',
    identifier: id,
    name,
    description: `${name}: an export by ${user}, made by ${agent}`,
    datePublished: created.toISOString(),
    license: 'Rights are those of the objects and files; the export says nothing of them.',
  }
  const opened = JSON.stringify(root).slice(0, -1)
  return `{"@context":${JSON.stringify(context)},\n"@graph":[\n${JSON.stringify(descriptor)},\n${opened},"hasPart":[`
}
