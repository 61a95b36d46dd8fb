import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import axe from 'axe-core'
import { picture, upload } from '../files/support.ts'
import { noBrowser, startBrowser } from '../support/browser.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Pages as they are found from the menu, and those behind them. */
const pages = [
  ...[
    '',
    'system/status/',
    'figures/',
    'objects/list/',
    'objects/',
    'pools/',
    'pools/1/',
    'collections/',
    'tags/',
    'files/',
  ],
  ...[
    'users/',
    'promises/',
    'publish/',
    'messages/',
    'tasks/',
    'tasks/1/',
    'queues/',
    'statements/',
    'events/',
    'system/janitor/',
    'recalcterms/',
    'locations/',
    'migration/',
    'config/',
    'datamodel/',
    'mappings/',
    'mappings/1/',
    'migration/1/',
  ],
  ...[
    'plugins/',
    'tokens/',
    'sqlquery/?query=select+1+as+one',
    'objects/1/',
    'files/1/',
    'objecttypes/person/',
    'nothing/',
  ],
]

suite('the console in a browser', { skip: noBrowser }, () => {
  test('an administrator signs in and acts; axe finds nothing on any page, at a desk and on a telephone, in either language; nothing stands out', async () => {
    await using museum = await startMuseum({ debugSqlQuery: true, slowStatement: 1 })
    const { svc } = museum
    const saved = await svc
      .as('root')
      .post('/db/person', [payload('person', { name: `Ada ${'Longlastname'.repeat(8)}` })])
    assert.equal(saved.status, 200)
    await upload(svc, 'root', [{ name: `${'a-very-long-filename'.repeat(6)}.jpg`, content: await picture() }])
    await mkdir(join(svc.config.dataDir, 'backups'), { recursive: true })
    await writeFile(join(svc.config.dataDir, 'backups', 'a.tar.zst'), 'no archive')
    await fillOutlets(museum)
    await svc.drain()
    const address = await svc.listen()
    await using browser = await startBrowser()
    for (const [locale, width, action, done] of [
      ['de-DE', 360, 'Jetzt laufen lassen', 'Die Aufräumdienste laufen im Hintergrund.'],
      ['en-US', 1280, 'Run them now', 'The janitors are running in the background.'],
    ] as const) {
      const { page, complaints } = await browser.open(`${address}/inspect/system/janitor/`, {
        locale,
        viewport: { width, height: 900 },
      })
      await page.fill('[name=login]', 'root')
      await page.fill('[name=password]', svc.config.rootPassword ?? '')
      await Promise.all([page.waitForURL('**/inspect/system/janitor/'), page.click('main button')])
      await Promise.all([page.waitForURL('**/?done=*'), page.click(`text=${action}`)])
      assert.equal(await page.textContent('.notice'), done)
      // The figures move: a line is drawn.
      await page.goto(`${address}/inspect/figures/`)
      await page.waitForSelector('[data-figure="memory.rss"] .line[points*=","]', { state: 'attached' })
      assert.deepEqual(complaints, [], 'the policy of the pages forbids nothing that they do')
      const storage = await page.context().storageState()
      await page.close()
      const second = await browser.open(`${address}/inspect/`, {
        ...{ locale, viewport: { width, height: 900 }, bypassCSP: true, storageState: storage },
      })
      for (const path of pages) {
        await second.page.goto(`${address}/inspect/${path}`)
        await second.page.evaluate(axe.source)
        const found = (await second.page.evaluate('axe.run()')) as {
          violations: { id: string; nodes: { html: string }[] }[]
        }
        const told = found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
        assert.deepEqual(told, [], `${path} ${locale}`)
        const wide = await second.page.evaluate('document.documentElement.scrollWidth > innerWidth')
        assert.equal(wide, false, `${path} at ${width}`)
        if (!process.env.SCREENSHOTS) continue
        const name = path.replaceAll(/[^\w]+/g, '-')
        await second.page.screenshot({ path: `${process.env.SCREENSHOTS}/console-${name}${locale}.png` })
      }
      await second.page.close()
    }
  })
})

/** A publish record, a message, a task with a log, and a backup over the interface. */
async function fillOutlets({ svc }: Museum): Promise<void> {
  const root = svc.as('root')
  const long = `https://publish.test/${'a-very-long-address'.repeat(12)}`
  const config = {
    publish: { collectors: [{ internalname: 'portal', displayname: { 'en-US': 'Portal' } }] },
    location_defaults: { originals: 'file', versions: '', backups: 'file' },
  }
  const publish = { system_object_id: 1, collector: 'portal', publish_uri: long, svc_uri: 'http://localhost:8080/x' }
  const title = { 'en-US': `House ${'rules'.repeat(20)}`, 'de-DE': 'Hausordnung' }
  const task = {
    task_module: 'search',
    description: `Each week ${'report'.repeat(20)}`,
    next_run_at: '2020-01-01T00:00:00Z',
    task_params: { search: { objecttypes: ['person'], search: [] } },
    schedules: [{ weekdays: ['monday'], hours: [8] }],
    email: { recipients: [{ email: 'staff@museum.test' }] },
  }
  for (const answer of [
    await root.post('/config', { system: { config } }),
    await root.post('/publish', [{ publish }]),
    // Shown by front ends, not at sign-in.
    await root.post('/message', [{ message: { title, message: title, webfrontend_type: 'news' } }]),
    await root.post('/task', { task }, { confirm: 'yes' }),
    await root.put('/system/backup/new', { format: 'native' }),
  ])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
