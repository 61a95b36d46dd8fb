import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { archive, install, putArchive, remove, switched } from '../plugins/support.ts'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { exportManifest, type Procedure, pluginFiles, pythonSums, reworking, sums } from './plugin-scripts.ts'
import { addWorks, archiveBytes, codeOf, draft, exported, fetchedFile, inFolder, ran, run, saved } from './support.ts'

suite('plugins in exports', () => {
  let museum: Museum
  const note = join(tmpdir(), `strongroom-export-plugin-${process.pid}`)
  before(async () => {
    museum = await startMuseum({ pluginSeconds: 20, pluginOutput: 1 })
    await museum.svc.listen()
    await addWorks(museum, ['a', 'b'], 2)
    await museum.svc.drain()
  })
  after(async () => {
    await museum[Symbol.asyncDispose]()
    await rm(note, { force: true })
  })

  const root = () => museum.svc.as('root')
  const settings = { json: true, eas_fields: { 'work.image': { files: true } } }
  const pathsOf = (one: Json): string[] => one._files.map(({ path }: Json) => path).sort()
  const lastOf = ({ _log }: Json, type: string): Json =>
    _log.findLast((one: Json) => one.event.type === type)?.event.info
  const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')
  let number = 0

  /** An export that a plugin with these procedures reworks, while the work lasts. */
  async function withPlugin(
    { script, python, ...more }: { script?: string; python?: string } & Procedure,
    names: readonly string[],
    work: (reference: (name: string) => string, plugin: Json) => Promise<void>,
    hook: 'export' | 'export_transport' = 'export',
  ): Promise<void> {
    const name = `reworks-${++number}`
    const procedures = Object.fromEntries(names.map((one) => [one, more]))
    const files = { ...(script ? { 'run.js': script } : {}), ...(python ? { 'run.py': python } : {}) }
    const plugin = await install(museum.svc, name, pluginFiles(name, { [hook]: procedures }, files))
    try {
      await work((one) => `${name}:${one}`, plugin)
    } finally {
      await remove(museum.svc, plugin.id)
    }
  }

  const reworked = (plugin: string, more: Json = {}): Promise<Json> =>
    exported(museum.svc, { ...settings, ...more, produce_options: { plugin } })

  for (const [language, given] of [
    ['Node', { script: reworking(sums) }],
    ['Python', { python: pythonSums, service: 'python3' as const }],
  ] as const) {
    test(`EXP-023 a plugin in ${language} fetches the files, adds one that it makes, and its log is that of the last run`, async () => {
      await withPlugin(given, ['sums'], async (reference) => {
        const one = await reworked(reference('sums'))
        assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
        const log = language === 'Node' ? ['looked at 3', 'done'] : ['from Python']
        assert.deepEqual(one._plugin_log, log)
        assert.deepEqual(lastOf(one, 'EXPORT_FINISH').plugin_log, log)
        const made = language === 'Node' ? 'sums/md5.txt' : 'md5.txt'
        const paths = pathsOf(one)
        assert.equal(paths.length, 4)
        assert.equal(one._files.find(({ path }: Json) => path === made).size, undefined)
        const single = await fetchedFile(museum.svc, one.export._id, made)
        assert.deepEqual([single.statusCode, single.headers['content-type']], [200, 'text/plain; charset=utf-8'])
        const lines = single.body.trim().split('\n')
        assert.equal(lines.length, 3)
        for (const line of lines) {
          const [sum = '', path = ''] = line.split('  ')
          assert.equal(sum, md5((await fetchedFile(museum.svc, one.export._id, encodeURI(path))).rawPayload), path)
        }
        const part = await fetchedFile(museum.svc, one.export._id, made, 'root', { range: 'bytes=0-31' })
        assert.deepEqual([part.statusCode, part.body], [206, single.body.slice(0, 32)])
        for (const [kind, program] of [
          ['zip', (path: string) => run('unzip', ['-p', path, made])],
          ['tar_gz', (path: string) => run('tar', ['-xzOf', path, made])],
        ] as const) {
          const { path } = await inFolder(`a.${kind}`, await archiveBytes(museum.svc, one.export._id, kind))
          assert.equal((await program(path)).stdout, single.body, kind)
        }
        // A run whose plugin says nothing has no log.
        const plain = await root().post(`/export/${one.export._id}`, {
          ...one,
          export: { ...one.export, produce_options: {} },
        })
        assert.equal(plain.status, 200)
        const again = await ran(museum.svc, 'root', one.export._id)
        assert.deepEqual([again._state, again._plugin_log, again._files_count], ['done', [], 3])
      })
    })
  }

  test('a caller has places for archives, which are free again after readers who leave before an archive begins', async () => {
    const script = reworking(`async waits({ exported, action }) {
      const fs = require('node:fs')
      const file = { export_file_internal: { path: 'made.txt', plugin_action: 'make' } }
      if (!action) return { ...exported, _files: [file], _state: 'done' }
      fs.appendFileSync('${note}', 'x')
      while (!fs.readFileSync('${note}', 'utf8').includes('go')) await new Promise((resolve) => setTimeout(resolve, 20))
      return 'made'
    }`)
    await writeFile(note, '')
    await withPlugin({ script }, ['waits'], async (reference) => {
      const waiting = { ...settings, produce_options: { plugin: reference('waits') } }
      const one = await exported(museum.svc, waiting, { _transports: [{}] })
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      const place = `${museum.svc.app.http.listeningOrigin}/api/v1/export/${one.export._id}`
      const url = `${place}/zip/`
      const headers = { authorization: `Bearer ${await root().token()}` }
      const stop = new AbortController()
      // Strangers with the address of a transport have places of their own: one of them gets as far as the plugin.
      const byUuid = `${place}/uuid/${one._transports[0].uuid}/zip/`
      const left = [url, url, url, byUuid].map((address) =>
        fetch(address, { ...(address === url ? { headers } : {}), signal: stop.signal }).catch(
          (error: Error) => error.name,
        ),
      )
      await until(async () => (await readFile(note, 'utf8')).length === left.length)
      const fourth = await fetch(url, { headers })
      const { code, parameters } = (await fourth.json()) as Json
      assert.deepEqual([fourth.status, code, parameters.quota], [429, 'TooManyHeavyRequests', 'svc.quotas.archives'])
      stop.abort()
      assert.deepEqual(
        await Promise.all(left),
        left.map(() => 'AbortError'),
      )
      await writeFile(note, 'go')
      await until(async () => {
        const answer = await fetch(url, { headers })
        const bytes = Buffer.from(await answer.arrayBuffer())
        return answer.status === 200 && bytes.includes('made.txt')
      })
    })
  })

  test('EXP-032 the log of plugins is empty again when a run becomes active', async () => {
    const script = reworking(`async notes({ exported }) {
      return { ...exported, _state: 'done', _plugin_log: [exported._state, ...exported._plugin_log] }
    }`)
    await withPlugin({ script }, ['notes'], async (reference) => {
      const one = await reworked(reference('notes'))
      assert.deepEqual(one._plugin_log, ['processing'])
      assert.deepEqual((await ran(museum.svc, 'root', one.export._id))._plugin_log, ['processing'])
    })
  })

  test('a plugin renames, hides and leaves out files; what is hidden is for its user alone', async () => {
    const script = reworking(`async rework({ exported }) {
      const [data, first, second] = exported._files
      data.export_file_internal.path = 'data/all.json'
      data.export_file_internal.content_type = 'text/plain'
      first.export_file_internal.hidden = true
      return { export: exported.export, _state: 'done', _files: [first, data] }
    }`)
    await withPlugin({ script }, ['rework'], async (reference) => {
      const one = await exported(
        museum.svc,
        { ...settings, produce_options: { plugin: reference('rework') } },
        { _transports: [{}] },
      )
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      assert.deepEqual([pathsOf(one), one._files_count], [['data/all.json'], 1])
      const data = await fetchedFile(museum.svc, one.export._id, 'data/all.json')
      assert.deepEqual([data.statusCode, data.headers['content-type']], [200, 'text/plain; charset=utf-8'])
      assert.equal((await fetchedFile(museum.svc, one.export._id, 'export.json')).statusCode, 404)
      const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip'))
      assert.equal((await run('unzip', ['-Z1', zip.path])).stdout, 'data/all.json\n')
      const hidden = await museum.svc.db.query<Json>('select folder, name from export_file where hidden')
      const [{ folder, name } = {} as Json] = hidden.rows
      assert.equal(hidden.rows.length, 1, 'the third file is gone')
      const path = encodeURI(`${folder}/${name}`)
      assert.equal((await fetchedFile(museum.svc, one.export._id, path)).statusCode, 200)
      const url = `/api/v1/export/${one.export._id}/uuid/${one._transports[0].uuid}/file/`
      assert.equal((await museum.svc.inject({ url: url + path })).statusCode, 404)
      assert.equal((await museum.svc.inject({ url: `${url}data/all.json` })).statusCode, 200)
    })
  })

  test('what a plugin says wrongly, and its failures, end the run, and nothing of its answer counts', async () => {
    const script = reworking(`
      async refuses() { console.error('no'); return { error: { code: 'my.code', message: 'Not today', statuscode: 500 } } },
      async exits() { process.stdout.write(JSON.stringify({ code: 'my.exit' })); process.exitCode = 3 },
      async crashes() { process.exit(4) },
      async says_nothing() {},
      async floods() { return 'x'.repeat(2000000) },
      async no_json() { return 'hello' },
      async no_state({ exported }) { return exported },
      async other_state({ exported }) { return { ...exported, _state: 'processing' } },
      async other({ exported }) { return { ...exported, export: { ...exported.export, _id: 4711 }, _state: 'done' } },
      async fails({ exported }) { return { ...exported, _state: 'failed', _plugin_log: ['it', 'failed'] } },
      async climbs({ exported }) { return { ...exported, _state: 'done', _files: [{ export_file_internal: { path: '../x', plugin_action: 'a' } }] } },
      async absolute({ exported }) { return { ...exported, _state: 'done', _files: [{ export_file_internal: { path: '/etc/x', plugin_action: 'a' } }] } },
      async empty({ exported }) { return { ...exported, _state: 'done', _files: [{ export_file_internal: { path: 'x' } }] } },
      async twice({ exported }) { return { ...exported, _state: 'done', _files: [...exported._files, exported._files[0]] } },
      async within({ exported }) { exported._files[0].export_file_internal.path = 'files'; return { ...exported, _state: 'done' } },
      async foreign({ exported }) { return { ...exported, _state: 'done', _files: [{ export_file_internal: { id: 1e9, path: 'x' } }] } },
      async typed({ exported }) { exported._files[0].export_file_internal.content_type = 'a\\nb'; return { ...exported, _state: 'done' } }`)
    const cases: [string, RegExp][] = [
      ['refuses', /says: my\.code: Not today/],
      ['exits', /says: my\.exit/],
      ['crashes', /ended with the code 4/],
      ['says_nothing', /its answer is empty/],
      ['floods', /said more than 1000000 bytes/],
      ['no_json', /its answer is no JSON/],
      ['no_state', /answered no _state/],
      ['other_state', /answered no _state/],
      ['other', /answered another export/],
      ['fails', /says that it has failed/],
      ['climbs', /_files\.0 without a path/],
      ['absolute', /_files\.0 without a path/],
      ['empty', /without a plugin_action/],
      ['twice', /answered two files/],
      ['within', /where others have a folder/],
      ['foreign', /a file 1000000000, which the export does not have/],
      ['typed', /content_type/],
    ]
    await withPlugin(
      { script },
      cases.map(([name]) => name),
      async (reference) => {
        for (const [name, expected] of cases) {
          const one = await reworked(reference(name))
          const info = lastOf(one, 'EXPORT_FAILED')
          assert.deepEqual([name, one._state], [name, 'failed'])
          assert.match(info.error, expected, name)
          assert.deepEqual(one._plugin_log, name === 'fails' ? ['it', 'failed'] : [], name)
          assert.deepEqual(info.plugin_log, one._plugin_log)
          assert.equal(one._files_count, 3)
          assert.equal((await fetchedFile(museum.svc, one.export._id, 'export.json')).statusCode, 400)
        }
      },
    )
  })

  test('a plugin that has warnings makes one of the run; one that answers without files leaves them', async () => {
    const script = reworking(`async warns({ exported }) {
      return { export: exported.export, _state: 'done_with_warnings', _plugin_log: 'one line' }
    }`)
    await withPlugin({ script }, ['warns'], async (reference) => {
      const one = await reworked(reference('warns'))
      assert.deepEqual([one._state, one._plugin_log, one._files_count], ['done_with_warnings', ['one line'], 3])
      assert.match(lastOf(one, 'EXPORT_FINISH').warnings[0], /has warnings/)
      const empty = await reworked(reference('warns'), { search: { objecttypes: ['loan'] } })
      assert.deepEqual([empty._state, empty._plugin_log], ['done', []], 'of nothing no plugin is told')
    })
  })

  test('a plugin that hangs ends with its time; stopping the run ends it, too', async () => {
    const script = reworking(`async hangs() {
      require('node:fs').writeFileSync(${JSON.stringify(note)}, String(process.pid))
      await new Promise((resolve) => setTimeout(resolve, 60000))
    }`)
    const pid = () => readFile(note, 'utf8').catch(() => '')
    const isGone = (number: number): boolean => {
      try {
        process.kill(number, 0)
        return false
      } catch {
        return true
      }
    }
    await withPlugin({ script, exec: { timeout: '1s' } }, ['hangs'], async (reference) => {
      const one = await reworked(reference('hangs'))
      assert.equal(one._state, 'failed')
      assert.match(lastOf(one, 'EXPORT_FAILED').error, /took more than 1 seconds/)
    })
    await rm(note, { force: true })
    await withPlugin({ script, exec: { timeout: '60s' } }, ['hangs'], async (reference) => {
      const { export: own } = await saved(
        museum.svc,
        'root',
        draft({ ...settings, produce_options: { plugin: reference('hangs') } }),
      )
      assert.equal((await root().post(`/export/${own._id}/start`)).status, 200)
      await until(async () => (await pid()) !== '')
      const running = Number(await pid())
      assert.equal(isGone(running), false)
      const stopped = await root().post(`/export/${own._id}/stop`)
      assert.deepEqual([stopped.status, stopped.body._state], [200, 'failed'])
      await until(async () => isGone(running))
      await museum.svc.app.idle({ hurry: true })
      const { body } = await root().get(`/export/${own._id}`)
      assert.equal(body._state, 'failed')
      assert.equal(lastOf(body, 'EXPORT_FAILED'), undefined)
    })
  })

  test('a run that another attempt has taken up is left alone by the first, and taken up again when no job is left', async () => {
    const go = `${note}.go`
    const script = reworking(`async waits({ exported }) {
      const fs = require('node:fs')
      fs.appendFileSync(${JSON.stringify(note)}, 'asked ')
      while (!fs.existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20))
      return { ...exported, _state: 'done', _plugin_log: ['answered'] }
    }`)
    await rm(note, { force: true })
    const asked = () => readFile(note, 'utf8').catch(() => '')
    await withPlugin({ script }, ['waits'], async (reference) => {
      const { export: own } = await saved(
        museum.svc,
        'root',
        draft({ ...settings, produce_options: { plugin: reference('waits') } }),
      )
      await root().post(`/export/${own._id}/start`)
      await until(async () => (await asked()) !== '')
      await museum.svc.db.query(
        `update export_run set holder = gen_random_uuid() where id = (select run_id from export where id = $1)`,
        [own._id],
      )
      await museum.svc.app.idle({ hurry: true })
      const { body: left } = await root().get(`/export/${own._id}`)
      assert.deepEqual([left._state, left._plugin_log], ['processing', []])
      await writeFile(go, '')
      await using other = await attachService(museum.svc.dsn, { dataDir: museum.svc.config.dataDir })
      await until(async () => (await other.as('root').get(`/export/${own._id}`)).body._state === 'done')
      const { body: done } = await root().get(`/export/${own._id}`)
      assert.deepEqual([done._plugin_log, await asked()], [['answered'], 'asked asked '])
      const finishes = done._log.filter(({ event }: Json) => event.type === 'EXPORT_FINISH')
      assert.equal(finishes.length, 1)
    })
    await rm(go, { force: true })
  })

  test('a file that the plugin cannot make is told: by its answer, in a ZIP beside its place', async () => {
    const script = reworking(`async makes({ exported, action, info }) {
      if (action === 'refuses') { process.exitCode = 1; return { code: 'my.file', statuscode: 409 } }
      if (action === 'breaks') { process.stdout.write('half'); process.exit(2) }
      if (action === 'tells') return JSON.stringify(info.request ?? null)
      if (action === 'large') return 'y'.repeat(3000000)
      const names = ['refuses', 'breaks', 'tells', 'large']
      const made = names.map((name) => ({ export_file_internal: { path: name + '.txt', plugin_action: name } }))
      return { ...exported, _state: 'done', _files: [...exported._files, ...made] }
    }`)
    await withPlugin({ script }, ['makes'], async (reference, plugin) => {
      const one = await reworked(reference('makes'))
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      const get = (path: string) => fetchedFile(museum.svc, one.export._id, path)
      const refused = await get('refuses.txt')
      assert.deepEqual([refused.statusCode, refused.json().code], [409, 'my.file'])
      const broken = await get('breaks.txt')
      assert.deepEqual([broken.statusCode, broken.json().code], [400, 'FileVersionNotAvailable'])
      assert.match(broken.json().message, /ended with the code 2/)
      const told = (await get('tells.txt')).json()
      assert.match(told.url, new RegExp(`/api/v1/export/${one.export._id}/file/tells\\.txt$`))
      assert.equal(told.header.authorization, undefined)
      const large = await get('large.txt')
      assert.deepEqual([large.statusCode, large.rawPayload.length], [200, 3_000_000])
      const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip'))
      await run('unzip', ['-tq', zip.path])
      const names = (await run('unzip', ['-Z1', zip.path])).stdout.trim().split('\n')
      assert.deepEqual(names.slice(3).sort(), [
        'breaks.txt.error.txt',
        'large.txt',
        'refuses.txt.error.txt',
        'tells.txt',
      ])
      await switched(museum.svc, plugin.id, false)
      const off = await get('large.txt')
      assert.deepEqual([off.statusCode, off.json().code], [400, 'FileVersionNotAvailable'])
      const again = await ran(museum.svc, 'root', one.export._id)
      assert.equal(again._state, 'failed')
      assert.match(lastOf(again, 'EXPORT_FAILED').error, /is not there, or the plugin is off/)
    })
  })

  test('a plugin and a procedure that are not there are refused when the export is saved', async () => {
    await withPlugin({ script: reworking(sums) }, ['sums'], async (reference, plugin) => {
      const save = (name: string) => root().post('/export', draft({ produce_options: { plugin: name } }))
      const bring = (name: string) => root().post('/export', draft({}, { _transports: [{ plugin: name }] }))
      assert.equal((await save(reference('sums'))).status, 200)
      for (const name of [
        reference('other'),
        'nobody:sums',
        ':sums',
        'reworks',
        `${reference('sums')}:x`,
        '__proto__:x',
      ]) {
        const answer = await save(name)
        assert.deepEqual([name, ...codeOf(answer)], [name, 400, 'ServerGeneric'])
        assert.equal(answer.body.parameters.path, 'export.produce_options.plugin')
      }
      assert.deepEqual(codeOf(await bring(reference('sums'))), [400, 'ServerGeneric'], 'it brings nothing away')
      await switched(museum.svc, plugin.id, false)
      assert.deepEqual(codeOf(await save(reference('sums'))), [400, 'ServerGeneric'])
      for (const hook of ['export', 'export_transport'] as const) {
        const stays = exportManifest('stays', { [hook]: { a: { exec: { keep: true } } } })
        const put = await putArchive(museum.svc, archive('stays', { 'manifest.yml': stays }))
        assert.deepEqual(codeOf(put), [400, 'ServerGeneric'])
        assert.equal(put.body.parameters.path, `callbacks.${hook}.a.exec.keep`)
      }
    })
  })

  test('a program without input is told the export by %info.json%, as long as that fits', async () => {
    const script = `
      const { export: exported, plugin_action: action, api_callback: back, api_url } = JSON.parse(process.argv[3])
      const file = { export_file_internal: { path: 'a.txt', plugin_action: 'a' } }
      if (action) process.stdout.write(back.url === api_url && back.token ? 'the same' : 'another')
      else process.stdout.write(JSON.stringify({ ...exported, _state: 'done', _files: [...exported._files, file] }))`
    await withPlugin({ script, readsInput: false, args: ['%info.json%'] }, ['reads'], async (reference) => {
      const one = await reworked(reference('reads'))
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      assert.equal((await fetchedFile(museum.svc, one.export._id, 'a.txt')).body, 'the same')
      const message = 'x'.repeat(10_000)
      const long = await exported(
        museum.svc,
        { ...settings, produce_options: { plugin: reference('reads') } },
        { _transports: Array.from({ length: 15 }, () => ({ email: { message } })) },
      )
      assert.match(lastOf(long, 'EXPORT_FAILED').error, /too long for %info\.json%/)
    })
  })

  const transport = (plugin: string, options: Json) => ({ _transports: [{ plugin, options }] })

  test('a plugin brings a result away: with its options as they were entered, which nobody is shown', async () => {
    const script = reworking(`
      async brings({ told, exported, fetched }) {
        const { transport } = told
        console.error('secret is ' + transport.options['pw:secret'])
        const sizes = []
        for (const { path } of exported._files) sizes.push((await fetched(path)).length)
        return { _state: 'done', _transport_log: [JSON.stringify(transport.options), String(sizes.length), exported._state] }
      },
      async warns() { return { _state: 'done_with_warnings', _transport_log: ['slow'] } },
      async fails() { return { _state: 'failed', _transport_log: ['no way'] } },
      async crashes({ told }) { return { error: { code: 'gone', message: 'the secret ' + told.transport.options['pw:secret'] } } },
      async odd() { return { _state: 'fine' } }`)
    const names = ['brings', 'warns', 'fails', 'crashes', 'odd']
    const options = { folder: 'in', deep: { a: [1] }, 'pw:secret': 'sésame & co' }
    await withPlugin(
      { script },
      names,
      async (reference) => {
        const one = await exported(museum.svc, settings, transport(reference('brings'), options))
        assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
        assert.deepEqual(one._transports[0].options, { ...options, 'pw:secret': '***' })
        const info = lastOf(one, 'EXPORT_TRANSPORT_FINISH')
        assert.deepEqual([info.transport_state, info.transport.plugin], ['done', reference('brings')])
        assert.deepEqual(info.transport_log.slice(1), ['3', 'processing'])
        assert.ok(info.transport_log[0].includes('"folder":"in","deep":{"a":[1]},"pw:secret":'), info.transport_log[0])
        assert.ok(!JSON.stringify(one).includes('sésame'), 'the log does not say it')
        const kept = await root().post(`/export/${one.export._id}`, one)
        assert.equal(kept.status, 200, JSON.stringify(kept.body))
        const moved = structuredClone(kept.body)
        moved._transports[0].plugin = reference('warns')
        assert.deepEqual(codeOf(await root().post(`/export/${one.export._id}`, moved)), [400, 'ServerGeneric'])
        for (const [name, state, event, problem] of [
          ['warns', 'done_with_warnings', 'EXPORT_TRANSPORT_FINISH', null],
          ['fails', 'failed', 'EXPORT_TRANSPORT_FAILED', /says that it has failed/],
          ['crashes', 'failed', 'EXPORT_TRANSPORT_FAILED', /^says: gone: the secret \*+$/],
          ['odd', 'failed', 'EXPORT_TRANSPORT_FAILED', /answered no _state/],
        ] as const) {
          const ended = await exported(museum.svc, settings, transport(reference(name), options))
          assert.deepEqual([name, ended._state], [name, 'done_with_warnings'])
          const told = lastOf(ended, event)
          assert.equal(told.transport_state, state, name)
          if (problem) assert.match(told.error, problem)
          if (name === 'fails') assert.deepEqual(told.transport_log, ['no way'])
          const count = ended._log.filter((each: Json) => each.event.type.startsWith('EXPORT_TRANSPORT_')).length
          assert.equal(count, 1, 'it was asked once')
        }
      },
      'export_transport',
    )
  })
})
