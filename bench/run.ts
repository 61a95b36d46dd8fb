/**
 * `npm run bench`: every path beside its limit, measured in one run, in one table.
 *
 *     --tate <folder>   the Tate collection (default ../shared/data/tate; else the sample of the package, multiplied)
 *     --large           also a million objects, and a million files; takes half an hour and some 10 GB in the temporary folder
 *     --copies <n>      how often the large run has the collection (default 15)
 *     --keep <folder>   the data of the large run stays in this folder; with it, a later run measures without an import
 *     --only <names>    comma-separated: start, auth, rights, files, import, read, render, search, suggest, latency, save, cold, mixed, small, callbacks, thesaurus, links, domains, large
 *     --worlds <names>  separated by semicolons: only these worlds of the rights
 *     --minutes <n>     how long the mixed load lasts (default 1)
 *     --strict          the exit code is 1 when a figure is over its limit
 */
import { access } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { sampleFolder } from '../src/import/demo.ts'
import { measureAuth } from './auth.ts'
import { measureCallbacks } from './callbacks.ts'
import { measureCold } from './cold.ts'
import { type Context, openContext, temporaryFolder } from './context.ts'
import { measureDomains } from './domains.ts'
import { measureFileMillions } from './file-millions.ts'
import { measureFiles } from './files.ts'
import { measureImport } from './import.ts'
import { measureLarge } from './large.ts'
import { measureLatency } from './latency.ts'
import { measureLinks } from './links.ts'
import { measureMemory } from './memory.ts'
import { measureMixed } from './mixed.ts'
import { multiply } from './multiply.ts'
import { measureRead } from './read.ts'
import { measureRendering } from './render.ts'
import { type Row, table } from './report.ts'
import { measureRichSave } from './rich-save.ts'
import { measureWorlds } from './rights.ts'
import { measureSearch } from './search.ts'
import { measureSmall } from './small.ts'
import { measureStart } from './start.ts'
import { measureSuggest } from './suggest.ts'
import { measureThesaurus } from './thesaurus.ts'

const { values } = parseArgs({
  options: {
    tate: { type: 'string' },
    large: { type: 'boolean', default: false },
    copies: { type: 'string', default: '15' },
    keep: { type: 'string' },
    only: { type: 'string' },
    worlds: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    strict: { type: 'boolean', default: false },
  },
})

const names = [
  'start',
  'auth',
  'rights',
  'files',
  'import',
  'read',
  'render',
  'search',
  'suggest',
  'latency',
  'save',
  'cold',
  'mixed',
  'small',
  'callbacks',
  'thesaurus',
  'links',
  'domains',
  'large',
]
const unknown = values.only?.split(',').filter((name) => !names.includes(name)) ?? []
if (unknown.length > 0) throw new Error(`--only knows ${names.join(', ')}, not ${unknown.join(', ')}`)
const wanted = values.only === undefined ? null : new Set(values.only.split(','))
const worlds = values.worlds?.split(';') ?? null
const wants = (name: string): boolean => wanted === null || wanted.has(name)
const say = (line: string): void => void process.stderr.write(`${line}\n`)

const rows: Row[] = []
const source = await sourceFolder()
try {
  if (wants('start')) rows.push(...(await step('start', measureStart)))
  if (wants('auth')) rows.push(...(await step('auth', () => measureAuth(say))))
  if (wants('rights')) rows.push(...(await step('rights', () => measureWorlds(say, worlds))))
  if (wants('files')) rows.push(...(await step('files', () => measureFiles(say))))
  if (values.large && wants('files')) rows.push(...(await step('a million files', () => measureFileMillions(say))))
  if (['import', 'read', 'render', 'search', 'suggest', 'latency', 'save', 'cold', 'mixed'].some(wants))
    rows.push(...(await onTheCollection(source.path)))
  if (wants('small')) rows.push(...(await step('5,000 objects', () => measureSmall(say))))
  if (wants('callbacks')) rows.push(...(await step('callbacks', () => measureCallbacks(say))))
  if (wants('links')) rows.push(...(await step('links', () => measureLinks(source.path, 50_000, say))))
  if (wants('domains')) rows.push(...(await step('domains', () => measureDomains(source.path, 20_000, say))))
  if (wants('thesaurus')) rows.push(...(await step('thesaurus', () => measureThesaurus(source.path, 50_000, say))))
  if (values.large && wants('large')) {
    const options = {
      copies: Number(values.copies),
      keep: values.keep === undefined ? null : resolve(values.keep),
      say,
    }
    rows.push(...(await step('a million objects', () => measureLarge(source.path, options))))
  }
} finally {
  await source.remove()
}
process.stdout.write(`\n${table(rows)}\n`)
process.exitCode = values.strict && rows.some((row) => row.ok === false) ? 1 : 0

/**
 * All paths that need the collection, on one service. The collection is imported for them, and the import is one of the
 * paths.
 */
async function onTheCollection(folder: string): Promise<Row[]> {
  const context = await openContext(folder, say)
  const paths: [name: string, measure: (context: Context) => Promise<Row[]>][] = [
    ['import', measureImport],
    ['read', measureRead],
    ['render', measureRendering],
    ['search', measureSearch],
    ['latency', measureLatency],
    ['save', measureRichSave],
    // From here on artworks lie in pools.
    ['suggest', measureSuggest],
    ['cold', measureCold],
    ['mixed', (each) => measureMixed(each, Number(values.minutes))],
  ]
  const found: Row[] = []
  try {
    for (const [name, measure] of paths) {
      if (name === 'import' || wants(name)) found.push(...(await step(name, () => measure(context))))
    }
    return [...found, ...(await measureMemory(context))]
  } finally {
    await context.close()
  }
}

async function step(name: string, measure: () => Promise<Row[]>): Promise<Row[]> {
  const begun = performance.now()
  say(`${name} …`)
  const measured = await measure()
  say(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  return measured
}

/** The collection as given or found; otherwise as many works as it has, made from the sample. */
async function sourceFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const given = values.tate ?? join(import.meta.dirname, '..', '..', 'shared', 'data', 'tate')
  const there = await access(given).then(
    () => true,
    () => false,
  )
  if (there) return { path: resolve(given), remove: async () => {} }
  if (values.tate) throw new Error(`there is no folder ${values.tate}`)
  say('without the Tate collection: its sample 138 times over, 69,000 artworks')
  const folder = await temporaryFolder()
  await multiply(sampleFolder, folder.path, 138)
  return folder
}
