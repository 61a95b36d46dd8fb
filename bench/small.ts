import { sampleFolder } from '../src/import/demo.ts'
import { importTate } from '../src/import/tate/import.ts'
import { silentProgress } from '../src/platform/process/progress.ts'
import { measureCold } from './cold.ts'
import { type Context, openContext, temporaryFolder } from './context.ts'
import { postgresTime, processTime } from './cpu.ts'
import { multiply } from './multiply.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

/** Copies of the sample (500 artworks, 391 artists, 1,595 subjects). */
const copies = 2
const amount = 1000
const connections = 8

/** A collection of the usual size, some 5,000 objects: the same paths as with 89,520, and the cost of an update. */
export async function measureSmall(say: (line: string) => void): Promise<Row[]> {
  const folder = await temporaryFolder()
  try {
    await multiply(sampleFolder, folder.path, copies)
    const context = await openContext(folder.path, say)
    try {
      await importTate({ client: context.client, folder: context.source, progress: silentProgress })
      const rows = [...(await updates(context)), ...(await measureCold(context))]
      return rows.map((row) => ({ ...row, path: row.path.startsWith(' ') ? row.path : `5,000 objects: ${row.path}` }))
    } finally {
      await context.close()
    }
  } finally {
    await folder.remove()
  }
}

/** Updates of titles, one object a request, as processor time until all of them are searchable. */
async function updates(context: Context): Promise<Row[]> {
  const { client, dsn, service } = context
  const name = 'bench_title'
  await commitTypes(
    context,
    [{ name, in_main_search: true, columns: [value('title', 'text_oneline'), value('note', 'text')] }],
    [{ name, table_name_hint: name, is_preferred: true, fields: [field('title', true), field('note')] }],
  )
  const wire = (block: object): object[] => [{ _objecttype: name, _mask: name, [name]: block }]
  const stored = await client.post<Record<string, { _id: number }>[]>(
    `/db/${name}`,
    Array.from({ length: amount }, (_, n) => wire({ title: `Title ${n}`, note: `A note of title ${n}` })[0]),
    { format: 'short', await_index: 60 },
  )
  const ids = stored.map((object) => object[name]?._id)
  const round = async (version: number): Promise<void> => {
    const open = ids.map((id, n) => ({ _id: id, _version: version, title: `Title ${n} of version ${version}` }))
    const last = open.pop() as object
    await Promise.all(
      Array.from({ length: connections }, async () => {
        for (let next = open.pop(); next; next = open.pop())
          await client.patch(`/db/${name}`, wire(next), { format: 'short' })
      }),
    )
    await client.patch(`/db/${name}`, wire(last), { format: 'short', await_index: 60 })
  }
  // During the first rounds, code is compiled that the others use.
  await round(1)
  await round(2)
  const times = async () => ({ service: await processTime(service.pid), postgres: await postgresTime(dsn) })
  const [before, begun] = [await times(), performance.now()]
  for (const version of [3, 4, 5]) await round(version)
  const [after, seconds] = [await times(), (performance.now() - begun) / 1000]
  const each = (of: keyof typeof before): number => (after[of] - before[of]) / (3 * amount)
  return [
    atMost(
      `a title changed by PATCH, ${connections} connections: processor time of PostgreSQL`,
      1.2,
      each('postgres'),
      'ms',
    ),
    atMost('the same of the service', 1, each('service'), 'ms'),
    figureOnly('  updates', (3 * amount) / seconds, '/s'),
  ]
}
