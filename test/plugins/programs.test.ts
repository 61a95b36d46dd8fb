import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { callbackManifest, install, nodeScript, remove } from './support.ts'

let museum: Museum
let root: Client
const note = `/tmp/strongroom-programs-${process.pid}`
before(async () => {
  museum = await startMuseum({ pluginSeconds: 20, pluginPlaces: 2, pluginWait: 20 })
  root = museum.svc.as('root')
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await rm(note, { force: true })
})

const objecttypes = ['person']
let number = 0
const save = (name = `Person ${++number}`, objecttype = 'person'): Promise<Answer> =>
  root.post(`/db/${objecttype}`, [payload(objecttype, { name })])

/** A callback of saves of persons, while the work lasts. */
async function with_(
  files: Record<string, string>,
  options: object,
  work: (plugin: Json) => Promise<void>,
): Promise<void> {
  const name = `program-${++number}`
  const plugin = await install(museum.svc, name, {
    'manifest.yml': callbackManifest(name, { objecttypes, ...options }),
    ...files,
  })
  try {
    await work(plugin)
  } finally {
    await remove(museum.svc, plugin.id)
  }
}
const exec =
  (more: object) =>
  (service = 'node') => ({
    service,
    commands: [
      { prog: service, stdin: { type: 'body' }, stdout: { type: 'body' }, args: ['%_exec.pluginDir%/run.js', note] },
    ],
    ...more,
  })

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a program in Python is run as one in Node', async () => {
  const script = `
import sys, json
payload = json.load(sys.stdin)
for obj in payload['objects']:
    obj['person']['reference'] = 'py ' + obj['person']['name']
print(json.dumps({'objects': payload['objects']}))
`
  await with_({ 'run.py': script }, { service: 'python3' }, async () => {
    const { status, body } = await save('Ada')
    assert.deepEqual([status, body[0].person.reference], [200, 'py Ada'], JSON.stringify(body))
  })
})

test('PRESAVE-027 a callback that hangs ends at its timeout, as a DbPreSaveFailed that names the plugin, and delays only its own saves', async () => {
  const hangs = { 'run.js': 'setInterval(() => {}, 1000)' }
  await with_(hangs, { exec: exec({ timeout: '1500ms' })() }, async ({ name }) => {
    const waiting = [save(), save(), save(), save()]
    // Two places are taken, two wait; everybody else goes on.
    const other = await save('Sea', 'topic')
    assert.equal(other.status, 200, JSON.stringify(other.body))
    assert.equal((await root.post('/search', {})).status, 200)
    for (const answer of await Promise.all(waiting)) {
      assert.deepEqual([answer.status, answer.body.code], [400, 'DbPreSaveFailed'])
      assert.match(answer.body.message, /took more than 1\.5 seconds/)
      assert.equal(answer.body.parameters.callback, `${name}:run`)
      assert.ok(answer.body.message.includes(name), answer.body.message)
    }
  })
})

test('whatever a program has started ends with it', async () => {
  const forks = nodeScript(`
    const { spawn } = require('node:child_process')
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
    require('node:fs').writeFileSync(process.argv[2], String(child.pid))
    answer({ objects: [] })
    process.exit(0)`)
  await with_({ 'run.js': forks }, { args: [note] }, async () => {
    await rm(note, { force: true })
    const { status, body } = await save()
    assert.equal(status, 200, JSON.stringify(body))
    const pid = Number(await readFile(note, 'utf8'))
    assert.ok(pid > 0)
    await until(async () => !runs(pid))
  })
})

test('of what waits for a place there is so much and no more', async () => {
  const slow = { 'run.js': nodeScript(`setTimeout(() => answer({ objects: [] }), 300)`) }
  await with_(slow, {}, async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => save()))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    )
  })
})

test('keep: true, a program stays and answers a line with a line', async () => {
  const stays = `
    let number = 0
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { objects } = JSON.parse(line)
      number++
      const [{ person }] = objects
      if (person.name === 'crash') process.exit(1)
      if (person.name === 'hang') return
      if (person.name === 'half') return process.stdout.write('{"objects"')  + process.stdout.write('\\n')
      if (person.name === 'twice') return process.stdout.write('{"objects":[]}\\n{"objects":[]}\\n')
      if (person.name === 'refuse') return console.log(JSON.stringify({ error: { code: 'kept.refusal', statuscode: 422 } }))
      for (const object of objects) object.person.reference = process.pid + ' ' + number
      setTimeout(() => console.log(JSON.stringify({ objects })), person.name === 'slow' ? 300 : 0)
    })`
  let kept = ''
  await with_({ 'run.js': stays }, { exec: exec({ keep: true, timeout: '1s' })() }, async () => {
    const reference = async (): Promise<[string, number]> => {
      const { status, body } = await save()
      assert.equal(status, 200, JSON.stringify(body))
      const [pid = '', calls] = body[0].person.reference.split(' ')
      return [pid, Number(calls)]
    }
    const [pid, first] = await reference()
    assert.deepEqual([first, await reference(), await reference()], [1, [pid, 2], [pid, 3]])
    const refused = await save('refuse')
    assert.deepEqual([refused.status, refused.body.code], [422, 'kept.refusal'])
    assert.deepEqual(await reference(), [pid, 5])
    let last = pid
    for (const name of ['crash', 'half', 'twice', 'hang']) {
      const { status, body } = await save(name)
      assert.deepEqual([name, status, body.code], [name, 400, 'DbPreSaveFailed'], JSON.stringify(body))
      // What broke a limit or its word is replaced.
      const [next, calls] = await reference()
      assert.deepEqual([calls, next === last], [1, false], name)
      last = next
    }
    // Two at a time are two processes.
    const both = await Promise.all([save('slow'), save('slow')])
    assert.equal(new Set(both.map(({ body }) => body[0].person.reference.split(' ')[0])).size, 2)
    const pids = both.map(({ body }) => Number(body[0].person.reference.split(' ')[0]))
    assert.ok(pids.every(runs))
    kept = pids.join()
  })
  const pids = kept.split(',').map(Number)
  // Removed with their plugin.
  assert.equal(pids.length, 2)
  await until(async () => !pids.some(runs))
})

test('numbers that no double holds come back from a program that stays as it has written them', async () => {
  const big = '12345678901234567890'
  const stays = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { objects } = JSON.parse(line)
      for (const object of objects) object.work.vocabulary = { _uuid: 'big', count: 1 }
      console.log(JSON.stringify({ objects }).replace('"count":1', '"count":${big}'))
    })`
  await with_({ 'run.js': stays }, { objecttypes: ['work'], exec: exec({ keep: true })() }, async () => {
    const { status, body } = await root.post('/db/work', [payload('work', inPool(museum.pool))])
    assert.equal(status, 200, JSON.stringify(body))
    const { payload: text } = await museum.svc.inject({
      url: `/api/v1/db/work/_all_fields/${body[0].work._id}`,
      headers: { authorization: `Bearer ${await root.token()}` },
    })
    assert.ok(text.includes(`"count":${big}`), text)
  })
})
