/** Rewrites the generated parts of the documentation, which are between two comments. */
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventTypeTable } from '../src/events/types-doc.ts'
import { configurationTable } from '../src/platform/config/doc.ts'
import { errorTable } from '../src/platform/errors-doc.ts'
import { bodyLimitTable } from '../src/platform/http/body/limits.ts'
import { memoryTable } from '../src/platform/memory/shares.ts'
import { domainTable } from '../src/search/domains/doc.ts'
import { pageTextTable } from '../src/signin/pages/texts-doc.ts'

const docs = join(import.meta.dirname, '..', 'docs')

await replacePart('configuration.md', 'settings', configurationTable())
await replacePart('errors.md', 'errors', errorTable())
await replacePart('operations.md', 'body-limits', bodyLimitTable())
await replacePart('operations.md', 'memory', memoryTable())
await replacePart('events.md', 'event-types', eventTypeTable())
await replacePart('search.md', 'domains', domainTable())
await replacePart('page-texts.md', 'page-texts', pageTextTable())

// The part shared by all documents of xml_native, for readers without the service.
await copyFile(join(docs, '..', 'src/formats/xml/schema-types.xsd'), join(docs, 'xml_native.xsd'))

async function replacePart(file: string, name: string, text: string): Promise<void> {
  const path = join(docs, file)
  const page = await readFile(path, 'utf8')
  const part = new RegExp(`(<!-- generated: ${name} -->\\n)[^]*?(\\n<!-- end -->)`)
  if (!part.test(page)) throw new Error(`${file} has no part "${name}"`)
  await writeFile(
    path,
    page.replace(part, (_all, begin: string, end: string) => begin + text + end),
  )
}
