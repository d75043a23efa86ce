// An application as people write them: a page that only administrators may see, behind a gateway that keeps others out.
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const express = require(process.argv[2])

const app = express()
app.all('/admin', (request, response) => response.send('ADMIN by route'))
app.all('/admin/users', (request, response) => response.send('ADMIN by route'))

const router = express.Router()
router.all('/reports', (request, response) => response.send('ADMIN by router'))
app.use('/admin', router)

// Files are found by their decoded names.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'express-'))
fs.mkdirSync(path.join(folder, 'admin'))
fs.writeFileSync(path.join(folder, 'admin', 'secret.txt'), 'ADMIN by file')
app.use(express.static(folder))
process.on('exit', () => fs.rmSync(folder, { recursive: true }))

// What knows nothing of routes and decodes paths itself.
app.use((request, response) => {
  let name
  try {
    name = decodeURIComponent(request.path).split(';')[0].replace(/\/+$/, '').toLowerCase()
  } catch {
    return response.status(400).send('nothing')
  }
  response.send(name === '/admin' || name.startsWith('/admin/') ? 'ADMIN by decoding' : 'nothing')
})

const server = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })))
process.stdin.on('end', () => process.exit(0)).resume()
