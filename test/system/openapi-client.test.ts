import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import openapiTS, { astToString } from 'openapi-typescript'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

const checkout = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** A program as a user of the interface would write it, against types that come from the description alone. */
const program = `
import createClient from 'openapi-fetch'
import type { components, paths } from './interface.d.ts'

const [base = '', password = '', poolId = ''] = process.argv.slice(2)
type ObjectInput = components['schemas']['ObjectInput']

const anonymous = createClient<paths>({ baseUrl: base })
const { data: token, error: refused } = await anonymous.POST('/api/oauth2/token', {
  body: { grant_type: 'password', client_id: 'web-client', username: 'root', password },
  bodySerializer: (body) => new URLSearchParams(body as Record<string, string>),
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
})
if (!token) throw new Error(refused?.error_description)
const client = createClient<paths>({ baseUrl: base, headers: { Authorization: \`Bearer \${token.access_token}\` } })

const work: ObjectInput = {
  _objecttype: 'work',
  _mask: '_all_fields',
  _pool: { pool: { _id: Number(poolId) } },
  work: { title: 'Snow Storm' },
}
const saved = await client.POST('/api/v1/db/{objecttype}', {
  params: { path: { objecttype: 'work' }, query: { await_index: 30, skip_events: true } },
  body: [work],
})
if (!saved.data || 'tasks' in saved.data) throw new Error(saved.error?.code ?? 'a question')
const [stored] = saved.data
const id: number | undefined = stored?._system_object_id
const block: components['schemas']['ObjectBlock'] | undefined = stored?.work

const read = await client.GET('/api/v1/db/{objecttype}/{mask}/{id}', {
  params: { path: { objecttype: 'work', mask: '_all_fields', id: String(block?._id) }, query: { format: 'long' } },
})
const found = await client.POST('/api/v1/search', {
  body: { search: [{ type: 'text', string: 'snow', fields: ['work.title'] }] },
})
const stale = await client.POST('/api/v1/db/{objecttype}', {
  params: { path: { objecttype: 'work' } },
  body: [{ ...work, work: { _id: block?._id, _version: 7, title: 'x' } }],
})
// @ts-expect-error a parameter that does not exist is found by the compiler
await client.GET('/api/v1/pool', { params: { query: { limti: 1 } } })
const unknownCode: 'VersionMismatch' | undefined = stale.error?.code === 'VersionMismatch' ? stale.error.code : undefined
console.log(
  JSON.stringify({
    id,
    version: block?._version,
    title: read.data?.[0]?.work?.title,
    found: found.data?.objects.map((one) => one._system_object_id),
    code: unknownCode,
  }),
)
`

suite('a client generated from the description', () => {
  let svc: TestService
  let folder: string
  before(async () => {
    svc = await startService()
    folder = await mkdtemp(join(tmpdir(), 'strongroom-test-client-'))
    await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  })
  after(async () => {
    await svc[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('compiles, saves, reads and searches, and knows the codes of errors', async () => {
    await commitModel(svc, defineModel({ work: { columns: { title: 'text_oneline' }, flags: { pool_link: true } } }))
    const description = (await svc.as(null).get('/system/openapi/spec.json')).body
    await writeFile(join(folder, 'interface.d.ts'), astToString(await openapiTS(description)))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'client.ts'), program)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'esnext',
      lib: ['esnext', 'dom'],
      types: ['node'],
      allowImportingTsExtensions: true,
      skipLibCheck: false,
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['client.ts'] }))
    const compiler = join(checkout, 'node_modules', 'typescript-7', 'bin', 'tsc')
    const compiled = await run(process.execPath, [compiler, '--pretty', 'false'], { cwd: folder }).catch(
      (failed) => failed,
    )
    assert.equal(compiled.stdout, '')

    const args = [join(folder, 'client.ts'), await svc.listen(), 'root-test-password', `${await standardPool(svc)}`]
    const { stdout } = await run(process.execPath, args, { cwd: folder })
    const told = JSON.parse(stdout)
    const [stored] = (await svc.as('root').get(`/db/work/_all_fields/list`)).body
    assert.deepEqual(told, {
      id: stored._system_object_id,
      version: 1,
      title: 'Snow Storm',
      found: [stored._system_object_id],
      code: 'VersionMismatch',
    })
  })
})
