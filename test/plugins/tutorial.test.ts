import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, payload, startMuseum } from '../support/seed/museum.ts'
import { archive, putArchive } from './support.ts'

/** The tutorial of docs/plugins.md, step by step, with its own files and requests. */
test('the first plugin of the documentation does what is said of it', async () => {
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'plugins.md'), 'utf8')
  const tutorial = page.split('\n## ')[1] ?? ''
  assert.match(tutorial, /^Your first plugin/)
  const files = Object.fromEntries(
    [...tutorial.matchAll(/The file ([\w.]+)[^:\n]*:\n\n```\w+\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  )
  assert.deepEqual(Object.keys(files), ['manifest.yml', 'mark.js'])
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, 'shelf-marks', name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
    await using museum = await startMuseum({ pluginPaths: [folder] })
    const { svc, pool } = museum
    await svc.listen()
    const root = svc.as('root')
    const save = (block: object): Promise<Json> =>
      root.post('/db/work', [payload('work', { ...inPool(pool), ...block })])
    /** The request of a step as the page has it: its method, path and body. */
    const step = (path: string): [string, Json] => {
      const command = [...tutorial.matchAll(/curl ([\s\S]*?)"\$BASE(\/api\/v1[^"]*)"/g)].find(([, , url = '']) =>
        url.includes(path),
      )
      assert.ok(command, path)
      const body = /-d '([^']*)'/.exec(command[1] ?? '')?.[1]
      return [command[2] ?? '', body === undefined ? undefined : JSON.parse(body)]
    }
    const [listing] = step('/plugin/manage')
    const { plugins } = (await root.get(listing)).body
    assert.deepEqual(
      plugins.map(({ id, name, enabled }: Json) => [id, name, enabled]),
      [[1, 'shelf-marks', false]],
    )
    assert.equal((await save({})).body[0].work.inventory ?? null, null)
    const [url, body] = step('/plugin/manage/1')
    assert.equal((await root.post(url, body)).body.enabled, true)
    assert.match((await save({})).body[0].work.inventory, /^A\d+$/)
    assert.equal((await save({ inventory: 'X7' })).body[0].work.inventory, 'X7')
    const [setting, value] = step('/config/plugin')
    assert.deepEqual((await root.post(setting, value)).body, { prefix: 'B' })
    assert.match((await save({})).body[0].work.inventory, /^B\d+$/)
    const refused = await save({ note: 'no mark' })
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters],
      [400, 'shelf-marks.refused', { note: 'no mark' }],
    )
    const twice = await putArchive(svc, archive('shelf-marks', files))
    assert.equal(twice.body.code, 'PluginDuplicateName')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
