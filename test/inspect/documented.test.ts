import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { OpenApiDocument } from '../../src/system/openapi/model.ts'
import { picture, upload } from '../files/support.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { consoleCookie, consoleOf } from './support.ts'

interface Row {
  readonly page: string
  readonly parameters: readonly string[]
  readonly members: readonly string[]
}

const words = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)

/** The tables of pages in docs/console.md. */
async function documented(): Promise<Row[]> {
  const text = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'console.md'), 'utf8')
  return [...text.matchAll(/^\| `(\/inspect\/[^`]*)` \|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, page = '', parameters = '', members = '']) => ({
      page,
      parameters: words(parameters),
      members: words(members),
    }),
  )
}

test('SVC-020 INSP-005 INSP-006 INSP-007 INSP-008 INSP-009 INSP-010 INSP-011 INSP-012 INSP-013 INSP-014 INSP-015 INSP-016 INSP-017 INSP-018 INSP-019 INSP-020 INSP-021 each page has the parameters and members of its documentation, and so have the other endpoints of which the specification gives the purpose alone', async () => {
  await using museum = await startMuseum({ debugSqlQuery: true })
  const { svc } = museum
  const saved = await svc.as('root').post('/db/person', [payload('person', { name: 'Ada' })])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await svc.db.query(
    `insert into event (type, pollable, at, info) values ('CUSTOM_DATA_TYPE_UPDATER', false, now(), '{"type": "1"}')`,
  )
  await mkdir(join(svc.config.dataDir, 'backups'), { recursive: true })
  await writeFile(join(svc.config.dataDir, 'backups', 'a.tar.zst'), 'no archive')
  const uploaded = await upload(svc, 'root', [{ name: 'a.jpg', content: await picture() }])
  const file = uploaded.body[0]._id
  const task = { task_module: 'search', task_params: { search: { objecttypes: ['person'], search: [] } } }
  assert.equal((await svc.as('root').post('/task', { task }, { confirm: 'yes' })).status, 200)
  const root = consoleOf(svc, await consoleCookie(svc))
  const rows = await documented()
  // Values that each parameter takes; what is not named takes a number.
  const values: Record<string, string> = {
    ...{ trash: 'live', index: 'indexed', order: 'id', state: 'done', class: 'image', group: 'ADMIN', type: 'JANITOR' },
    ...{ objecttype: 'person', path: 'tables', datamodel: '1', version: '1', query: 'select 1' },
  }
  const places: Record<string, string> = { objecttype: 'person', backup: 'a.tar.zst', file: String(file) }
  const all = [...new Set(rows.flatMap(({ parameters }) => parameters))]
  assert.ok(all.length > 15 && rows.length === 35, `${rows.length} pages`)
  for (const { page, parameters, members } of rows) {
    const path = page.replace(/^\/inspect/, '').replaceAll(/\{(\w+)\}/g, (_, name: string) => places[name] ?? '1')
    const query = new URLSearchParams(
      parameters.map((name) => [
        name,
        values[name] ?? (/^load_/.test(name) ? '1' : name === 'state' && page.includes('queues') ? 'due' : '1'),
      ]),
    )
    if (page.includes('queues')) query.set('state', 'due')
    const answer = await root.json(`${path}?${query}`)
    assert.deepEqual(Object.keys(answer), members, page)
    const html = await root.html(`${path}?${query}`)
    assert.match(html.body, /^<!doctype html>/, page)
    for (const name of all) {
      if (parameters.includes(name)) continue
      const refused = await root.get(`${path}?${name}=1`, { accept: 'application/json' })
      assert.deepEqual([refused.statusCode, refused.json().parameters.name], [400, name], `${page} ${name}`)
    }
  }
  const document = (await svc.as('root').get('/system/openapi/spec.json')).body as OpenApiDocument
  const described = Object.entries(document.paths)
  const mappings = described.flatMap(([path]) => (path.startsWith('/api/v1/xmlmapping/') ? [path.slice(7)] : []))
  assert.ok(mappings.length >= 2, `${mappings}`)
  for (const place of [
    ...mappings,
    ...['/plugin', '/plugin/bundle.js', '/plugin/bundle.css', '/plugin/bundle.html', '/plugin/bundle/l10n/{lang}.json'],
    ...[
      '/plugin/static/{plugin}/{path}',
      '/plugin/extension/{plugin}/{path}',
      '/collection',
      '/collection/{collectionId}',
    ],
    ...['/eas/{fileId}', '/group', '/group/{id}', '/message', '/message/{id}'],
  ]) {
    const [, methods] =
      described.find(([path]) => path === `/api/v1${place}` || path === place) ??
      assert.fail(`${place} of ${described.map(([path]) => path)}`)
    for (const [method, operation] of Object.entries(methods)) {
      assert.ok(operation.summary, `${method} ${place}`)
      assert.ok(
        Object.keys(operation.responses).some((status) => /^[23]/.test(status)),
        `${method} ${place}`,
      )
    }
  }
})
