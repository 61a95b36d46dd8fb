import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { noBrowser, startBrowser, type TestBrowser } from '../support/browser.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

suite('the page of the interface in a browser', { skip: noBrowser }, () => {
  let svc: TestService
  let browser: TestBrowser
  let address: string
  before(async () => {
    svc = await startService()
    address = `${await svc.listen()}/api/v1/system/openapi/`
    browser = await startBrowser()
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    await svc[Symbol.asyncDispose]()
  })

  test('a visitor signs in and tries a request, by keyboard alone', async () => {
    const { page, complaints } = await browser.open(address)
    await page.focus('#sign-in input[name=login]')
    await page.keyboard.type('root')
    await page.keyboard.press('Tab')
    await page.keyboard.type('root-test-password')
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as root.').waitFor()
    const token = await page.inputValue('#sign-in input[name=token]')
    assert.equal(await page.inputValue('#sign-in input[name=password]'), '')

    await page.focus('#listPools > summary')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.name'), 'limit')
    await page.keyboard.type('1')
    const curl = await page.textContent('#listPools .curl')
    assert.ok(curl?.includes(`'${new URL(address).origin}/api/v1/pool?limit=1'`), curl ?? '')
    assert.ok(curl?.includes(`-H 'Authorization: Bearer ${token}'`), curl ?? '')
    await page.keyboard.press('Enter')
    await page.locator('#listPools .answer .status').getByText('200').waitFor()
    const answer = JSON.parse((await page.textContent('#listPools .answer pre')) ?? '')
    assert.deepEqual(answer, (await svc.as('root').get('/pool', { limit: 1 })).body)
    assert.deepEqual(complaints, [])
    await page.close()
  })

  test('a body is sent as it stands in the form, and a refusal is shown', async () => {
    const { page } = await browser.open(`${address}#search`)
    assert.equal(await page.getAttribute('#search', 'open'), '', 'the address opens the operation that it names')
    await page.fill('#search textarea', `{"search": [{"type": "text", "string": "it's"}]}`)
    const curl = await page.textContent('#search .curl')
    assert.ok(curl?.includes(`"string": "it'\\''s"`), curl ?? '')
    await page.click('#search .try button >> nth=0')
    await page.locator('#search .answer .status.bad').getByText('401').waitFor()
    await page.fill('#sign-in input[name=token]', await svc.as('root').token())
    await page.click('#search .try button >> nth=0')
    await page.locator('#search .answer .status').getByText('200').waitFor()
    assert.equal(JSON.parse((await page.textContent('#search .answer pre')) ?? '').count, 0)
    await page.close()
  })

  test('examples become those of the instance when somebody signs in, and can be sent as they stand; a filter finds operations', async () => {
    await using museum = await startMuseum()
    const saved = await museum.svc.as('root').post('/db/person', [payload('person', { name: 'Ada' })])
    assert.equal(saved.status, 200)
    await museum.svc.drain()
    const { page, complaints } = await browser.open(`${await museum.svc.listen()}/api/v1/system/openapi/`)
    await page.fill('#sign-in input[name=login]', 'root')
    await page.fill('#sign-in input[name=password]', 'root-test-password')
    await page.click('#sign-in button')
    await page.getByText(`Examples of objects are those of ${saved.body[0]._global_object_id}.`).waitFor()
    const operations = [
      'getObject',
      'getObjectBySystemId',
      'getObjectByGlobalId',
      'listObjects',
      'saveObjects',
      'search',
    ]
    for (const operation of operations) {
      await page.click(`#${operation} > summary`)
      await page.click(`#${operation} .try button >> nth=0`)
      await page.locator(`#${operation} .answer .status`).getByText('200').waitFor()
      const answer = JSON.parse((await page.textContent(`#${operation} .answer pre`)) ?? '')
      assert.ok(JSON.stringify(answer).includes('"Ada"'), operation)
    }
    await page.fill('#filter', 'passkey delete')
    assert.equal(await page.textContent('#found'), `1 of ${await page.locator('details.operation').count()}`)
    assert.deepEqual(await page.locator('details.operation:visible').evaluateAll((all) => all.map(({ id }) => id)), [
      'removePasskey',
    ])
    assert.equal(await page.locator('main > section:visible').count(), 1)
    await page.fill('#filter', '')
    assert.ok(await page.locator('#saveObjects').isVisible())
    assert.deepEqual(complaints, [])
    await page.close()
  })

  test('texts can be read in light and in dark', async () => {
    const backgrounds = new Set<string>()
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints } = await browser.open(`${address}#saveObjects`, { colorScheme })
      const colours = (await page.evaluate(`(() => {
        const of = (selector) => getComputedStyle(document.querySelector(selector))
        return { text: of('body').color, muted: of('.muted').color, link: of('nav a').color, failure: of('.failure b').color, back: of('body').backgroundColor }
      })()`)) as Record<string, string>
      for (const name of ['text', 'muted', 'link', 'failure']) {
        const ratio = contrast(colours[name] ?? '', colours.back ?? '')
        assert.ok(ratio >= 4.5, `${colorScheme}: ${name} has a contrast of ${ratio.toFixed(1)}`)
      }
      backgrounds.add(colours.back ?? '')
      const wide = await page.evaluate('document.documentElement.scrollWidth <= innerWidth')
      assert.ok(wide, 'nothing stands out of the page')
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/openapi-${colorScheme}.png` })
      assert.deepEqual(complaints, [])
      await page.close()
    }
    assert.equal(backgrounds.size, 2)
  })
})

/** Contrast of two colours as WCAG 2 defines it. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string): number => {
    const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((text) => {
      const part = Number(text) / 255
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}
