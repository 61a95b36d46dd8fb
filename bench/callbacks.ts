import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Context, openContext, temporaryFolder } from './context.ts'
import { load, median } from './load.ts'
import { residentMemory } from './process.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const name = 'bench_noted'
/** Saves one after the other; their median counts. */
const singles = 100
/** Saves through three callbacks. */
const many = 1000
const connections = 4

const started = `
  let input = ''
  process.stdin.on('data', (chunk) => { input += chunk })
  process.stdin.on('end', () => { JSON.parse(input); process.stdout.write('{"objects": []}') })`
const staying = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { objects } = JSON.parse(line)
    for (const object of objects) object.${name}.note = 'seen'
    console.log(JSON.stringify({ objects }))
  })`

/** The cost of plugin callbacks for a save, and the memory of the service while many saves pass three of them. */
export async function measureCallbacks(say: (line: string) => void): Promise<Row[]> {
  const folder = await temporaryFolder()
  try {
    for (const plugin of ['starts', 'stays-a', 'stays-b', 'stays-c']) await writePlugin(folder.path, plugin)
    const context = await openContext(folder.path, say, { SVC_PLUGIN_PATHS: folder.path })
    try {
      await commitTypes(
        context,
        [{ name, columns: [value('title', 'text_oneline'), value('note', 'text')] }],
        [{ name, table_name_hint: name, is_preferred: true, fields: [field('title', true), field('note')] }],
      )
      return await measure(context)
    } finally {
      await context.close()
    }
  } finally {
    await folder.remove()
  }
}

async function measure(context: Context): Promise<Row[]> {
  const { client, service } = context
  const { plugins } = await client.get<{ plugins: { id: number; name: string }[] }>('/plugin/manage')
  const ids = new Map(plugins.map(({ id, name: plugin }) => [plugin, id]))
  const on = (plugin: string, enabled: boolean): Promise<unknown> =>
    client.post(`/plugin/manage/${ids.get(plugin)}`, { enabled })
  const cost = async (plugin: string): Promise<number> => {
    // Measured before and after, since the load of the machine changes.
    const before = await single(context)
    await on(plugin, true)
    const during = await single(context)
    await on(plugin, false)
    return during - (before + (await single(context))) / 2
  }
  await single(context)
  const [kept, fresh] = [await cost('stays-a'), await cost('starts')]
  for (const plugin of ['stays-a', 'stays-b', 'stays-c']) await on(plugin, true)
  await through(context, many / 4)
  const memory = await residentMemory(service.pid)
  const rate = await through(context, many)
  return [
    atMost('a callback that stays, added to a save', 5, kept, 'ms'),
    atMost('a callback that is started (node), added to a save', 80, fresh, 'ms'),
    atLeast(`${many} saves through three callbacks that stay`, 1000, 60 * rate, 'a minute'),
    figureOnly('  memory of the service before (RSS)', memory, 'MB'),
    atMost('  memory that they have added', 30, (await residentMemory(service.pid)) - memory, 'MB'),
  ]
}

const object = (title: string): string =>
  JSON.stringify([
    { _objecttype: name, _mask: name, [name]: { title, note: 'A note of some length, as people write them.' } },
  ])

/** Milliseconds of one save. */
async function single(context: Context): Promise<number> {
  const times: number[] = []
  const headers = await context.headers()
  for (let round = 0; round <= singles; round++) {
    const begun = performance.now()
    const answer = await fetch(`${context.service.url}/api/v1/db/${name}?format=short`, {
      method: 'POST',
      headers,
      body: object(`Single ${round}`),
    })
    if (!answer.ok) throw new Error(`a save was answered ${answer.status}: ${await answer.text()}`)
    await answer.arrayBuffer()
    times.push(performance.now() - begun)
  }
  return median(times)
}

/** So many saves, several at a time; answers the saves per second. */
async function through(context: Context, saves: number): Promise<number> {
  const headers = await context.headers()
  let left = saves
  const { perSecond } = await load({
    origin: context.service.url,
    connections,
    seconds: 600,
    more: () => left-- > 0,
    request: () => ({ method: 'POST', path: `/api/v1/db/${name}?format=short`, body: object(`Save ${left}`), headers }),
  })
  return perSecond
}

async function writePlugin(folder: string, plugin: string): Promise<void> {
  const stays = plugin.startsWith('stays')
  const command = {
    ...{ prog: 'node', stdin: { type: 'body' }, stdout: { type: 'body' } },
    args: ['%_exec.pluginDir%/run.js'],
  }
  const callbacks = {
    db_pre_save: {
      steps: [{ callback: 'run', filter: { type: 'objecttype', objecttypes: [name] } }],
      callbacks: { run: { exec: { service: 'node', keep: stays, commands: [command] } } },
    },
  }
  await mkdir(join(folder, plugin))
  // JSON is valid YAML.
  await writeFile(join(folder, plugin, 'manifest.yml'), JSON.stringify({ plugin: { name: plugin }, callbacks }))
  await writeFile(join(folder, plugin, 'run.js'), stays ? staying : started)
}
