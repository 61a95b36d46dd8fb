import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import axe from 'axe-core'
import { picture, upload } from '../files/support.ts'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { inPool, link, payload } from '../support/seed/museum.ts'
import { asActor, refs, type Scene, startScene, written } from './scene.ts'

const german = asActor(1, 'root', { isRoot: true, languages: ['de-DE', 'en-US'] })
const evil = '</title></script><script>document.title="run"</script><img src=x onerror=alert(1)>'

suite('the page of an object', () => {
  let scene: Scene
  let hostile: number
  before(async () => {
    scene = await startScene()
    const root = scene.svc.as('root')
    const { body: files } = await upload(scene.svc, 'root', [
      { name: '"><script>x.jpg', content: await picture() },
      { name: 'notes.txt', content: Buffer.from('notes') },
    ])
    const block = {
      title: { 'en-US': evil },
      note: evil,
      image: files.map(({ _id }: { _id: number }, index: number) => ({ _id, preferred: index === 0 })),
      vocabulary: { conceptName: evil },
      creator: link('person', scene.artist),
    }
    const { status, body } = await root.post('/db/work', [payload('work', block, inPool(scene.pool))])
    assert.equal(status, 200, JSON.stringify(body))
    hostile = body[0]._system_object_id
  })
  after(() => scene[Symbol.asyncDispose]())

  test('shows title, fields and rows in the language of the reader, and what is above it', async () => {
    const page = await written(scene.svc, 'html', refs(scene.work), {}, german)
    assert.match(page, /^<!doctype html>\n<html lang="de-DE">/)
    assert.match(page, /<h1>&#61;HYPERLINK/)
    for (const text of [
      'A1',
      '-0.07',
      'ja',
      '1851',
      'oil',
      'canvas',
      'Schweiz',
      'Bo',
      '@Museum',
      'Standardpool',
      'Zürich',
    ]) {
      assert.ok(page.includes(text), text)
    }
    assert.ok(!page.includes('The lake'))
    const place = await written(scene.svc, 'html', refs(scene.city), {}, german)
    assert.match(place, /<dt>Teil von<\/dt><dd>Schweiz<\/dd>/)
  })

  test('has data in the words of schema.org, which nothing of the object ends', async () => {
    const page = await written(scene.svc, 'html', refs(hostile), {}, german)
    const [, json = ''] = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(page) ?? []
    const data = JSON.parse(json)
    assert.equal(data['@context'], 'https://schema.org')
    assert.equal(data.name, evil)
    assert.equal(data.image.length, 1)
    assert.equal(page.match(/<script/g)?.length, 1)
    assert.ok(!page.includes('<img src=x'))
  })

  test('links lead to pages of others where addresses of objects are switched on', async () => {
    const root = scene.svc.as('root')
    const uuid = async (id: number) =>
      (await root.get(`/db/person/_all_fields/system_object_id/${id}`)).body[0]._uuid as string
    const address = `http://localhost:8080/api/v1/objects/uuid/${await uuid(scene.artist)}/format/html`
    assert.ok(!(await written(scene.svc, 'html', refs(scene.work))).includes(address))
    assert.equal((await root.post('/config/system/config/deep_link_access/enabled', true)).status, 200)
    assert.ok((await written(scene.svc, 'html', refs(scene.work))).includes(`href="${address}"`))
  })

  test('shows one object, and nothing where the reader may not read it', async () => {
    await assert.rejects(written(scene.svc, 'html', refs(scene.work, scene.bare)), { code: 'ServerGeneric' })
    assert.equal(await written(scene.svc, 'html', refs(scene.work), {}, asActor(99, 'stranger')), '')
    assert.equal(scene.svc.app.formats.find('html')?.single, true)
  })

  test('a browser runs nothing of it, and axe finds nothing', { skip: noBrowser }, async () => {
    const pages = new Map(
      await Promise.all(
        [hostile, scene.work, scene.city].map(
          async (id) => [`/${id}`, await written(scene.svc, 'html', refs(id), {}, german)] as const,
        ),
      ),
    )
    const server = createServer((request, reply) => {
      const page = pages.get(request.url as `/${number}`)
      reply.writeHead(page ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(page)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      await using browser = await startBrowser()
      for (const path of pages.keys()) {
        const { page } = await browser.open(address + path, { viewport: { width: 390, height: 800 }, bypassCSP: true })
        assert.notEqual(await page.title(), 'run')
        assert.equal(await page.evaluate('document.scripts.length'), 1)
        assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), path)
        await page.evaluate(axe.source)
        const { violations } = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: object[] }[] }
        assert.deepEqual(
          violations.map(({ id, nodes }) => [id, JSON.stringify(nodes[0]).slice(0, 300)]),
          [],
        )
        if (process.env.SCREENSHOTS)
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/object${path.slice(1)}.png` })
        await page.close()
      }
      // The style is what the policy of the page allows.
      const { page, complaints } = await browser.open(`${address}/${scene.work}`)
      assert.equal(await page.evaluate('getComputedStyle(document.querySelector("dl")).display'), 'grid')
      assert.deepEqual(
        complaints.filter((text) => !text.includes('favicon')),
        [],
      )
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
