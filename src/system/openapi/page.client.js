/** The script of the page: sends the request of a form with the visitor's own token, and shows it as a curl line. */
;(() => {
  const signIn = document.getElementById('sign-in')
  const said = signIn.querySelector('output')
  const base = location.pathname.replace(/\/api\/v1\/system\/openapi\/?$/, '')

  // Kept in this page only: a reload forgets it.
  const token = () => signIn.elements.token.value.trim()

  signIn.addEventListener('submit', async (event) => {
    event.preventDefault()
    const { login, password } = signIn.elements
    const form = { grant_type: 'password', client_id: 'web-client', username: login.value, password: password.value }
    const answer = await fetch(`${base}/api/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
    const body = await answer.json().catch(() => ({}))
    password.value = ''
    signIn.elements.token.value = body.access_token ?? ''
    said.textContent = answer.ok
      ? `Signed in as ${login.value}.`
      : (body.error_description ?? `Answer ${answer.status}`)
    if (answer.ok) await takeExamples(login.value)
    showAll()
  })
  signIn.addEventListener('input', (event) => {
    if (event.target.name !== 'token') return
    said.textContent = token() ? 'Requests are sent with this token.' : 'Requests are sent without a token.'
    showAll()
  })

  for (const form of document.querySelectorAll('form.try')) {
    form.addEventListener('input', () => show(form))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      send(form)
    })
    form.querySelector('.copy').addEventListener('click', () => navigator.clipboard?.writeText(curlOf(requestOf(form))))
    form.closest('details').addEventListener('toggle', () => show(form))
  }
  openNamed()
  addEventListener('hashchange', openNamed)

  const filter = document.getElementById('filter')
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
    const operations = [...document.querySelectorAll('details.operation')]
    for (const operation of operations) {
      const text = `${operation.id} ${operation.querySelector('summary').textContent}`.toLowerCase()
      operation.hidden = !words.every((word) => text.includes(word))
    }
    for (const section of document.querySelectorAll('main > section'))
      section.hidden = section.querySelector('details.operation:not([hidden])') === null
    const shown = operations.filter(({ hidden }) => !hidden).length
    document.getElementById('found').textContent = words.length === 0 ? '' : `${shown} of ${operations.length}`
  })

  /**
   * Examples of the description come from a small instance made for it. With a token those that name objects take the first
   * object of this one, so that they can be sent as they stand.
   */
  async function takeExamples(login) {
    const ask = async (path, body) => {
      const headers = { Authorization: `Bearer ${token()}`, 'Content-Type': 'application/json' }
      const answer = await fetch(`${base}/api/v1/${path}`, { method: body ? 'POST' : 'GET', headers, body })
      return answer.ok ? answer.json() : null
    }
    const found = await ask(
      'search',
      JSON.stringify({ limit: 1, format: 'long', sort: [{ field: '_system_object_id' }] }),
    )
    const object = found?.objects?.[0]
    if (!object) return
    const { _objecttype: objecttype, _mask: mask } = object
    const places = {
      getObject: { id: object[objecttype]?._id },
      getObjectBySystemId: { id: object._system_object_id },
      getObjectByGlobalId: { id: object._global_object_id },
      listObjects: {},
      saveObjects: {},
    }
    for (const [operation, values] of Object.entries(places)) fill(operation, { objecttype, mask, ...values })
    const search = {
      objecttypes: [objecttype],
      search: [{ type: 'match', string: '*' }],
      sort: [{ field: '_system_object_id' }],
      aggregations: { types: { type: 'term', field: '_objecttype' } },
      limit: 5,
    }
    fill('search', { body: JSON.stringify(search, null, 2) })
    fill('searchCacheable', { BODY: JSON.stringify(search) })
    const whole = await ask(`db/${objecttype}/${mask}/system_object_id/${object._system_object_id}`)
    if (whole) fill('saveObjects', { body: JSON.stringify([].concat(whole), null, 2) })
    said.textContent = `Signed in as ${login}. Examples of objects are those of ${object._global_object_id}.`
  }

  function fill(operation, values) {
    const form = document.querySelector(`#${operation} form.try`)
    for (const [name, value] of Object.entries(values)) {
      const field = form?.elements.namedItem(name)
      if (field && value !== undefined) field.value = value
    }
  }

  function openNamed() {
    const named = document.getElementById(location.hash.slice(1))
    if (named instanceof HTMLDetailsElement) named.open = true
  }

  function showAll() {
    for (const form of document.querySelectorAll('details[open] > form.try')) show(form)
  }

  function show(form) {
    form.querySelector('.curl').textContent = curlOf(requestOf(form))
  }

  function requestOf(form) {
    const { method, path, type } = form.closest('details').dataset
    const headers = token() ? { Authorization: `Bearer ${token()}` } : {}
    const query = new URLSearchParams()
    let target = path
    for (const field of form.querySelectorAll('[data-in]')) {
      if (field.dataset.in === 'path') {
        const value = field.name === 'path' ? encodeURI(field.value) : encodeURIComponent(field.value)
        target = target.replace(`{${field.name}}`, value)
      } else if (field.value === '') continue
      else if (field.dataset.in === 'query') query.append(field.name, field.value)
      else headers[field.name] = field.value
    }
    const body = form.elements.body?.value
    if (body) headers['Content-Type'] = type
    const address = `${location.origin}${base}${target}${query.size > 0 ? `?${query}` : ''}`
    return { method, address, headers, body: body || undefined }
  }

  function curlOf({ method, address, headers, body }) {
    const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
    const parts = [`curl -X ${method} ${quoted(address)}`]
    for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
    if (body) parts.push(`--data-binary ${quoted(body)}`)
    return parts.join(' \\\n  ')
  }

  async function send(form) {
    const output = form.querySelector('.answer')
    const { method, address, headers, body } = requestOf(form)
    output.textContent = 'Sending …'
    const begun = performance.now()
    try {
      const answer = await fetch(address, { method, headers, body, cache: 'no-store' })
      const text = await answer.text()
      const line = element('p', answer.ok ? 'status' : 'status bad', `${answer.status} ${answer.statusText}`)
      line.append(` after ${Math.round(performance.now() - begun)} ms`)
      output.replaceChildren(line, element('pre', '', pretty(text, answer.headers.get('content-type'))))
    } catch (error) {
      output.replaceChildren(element('p', 'status bad', `No answer: ${error.message}`))
    }
  }

  function element(name, className, text) {
    const made = document.createElement(name)
    made.className = className
    made.textContent = text
    if (name === 'pre') made.tabIndex = 0
    return made
  }

  function pretty(text, type) {
    const shown = type?.includes('json') ? JSON.stringify(JSON.parse(text), null, 2) : text
    return shown.length > 200_000 ? `${shown.slice(0, 200_000)}\n…` : shown
  }
})()
